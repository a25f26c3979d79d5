#include "text/bpe_merges.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace hagane::text {
namespace {

// Joins the best pair of all, leftmost on ties, again and again: the definition.
std::vector<int32_t> MergeByDefinition(
    std::vector<int32_t> ids,
    const std::map<std::pair<int32_t, int32_t>, MergeTable::Merge>& merges) {
  while (true) {
    size_t best = ids.size();
    uint32_t best_rank = UINT32_MAX;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto merge = merges.find({ids[i], ids[i + 1]});
      if (merge != merges.end() && merge->second.rank < best_rank) {
        best = i;
        best_rank = merge->second.rank;
      }
    }
    if (best == ids.size()) return ids;
    ids[best] = merges.at({ids[best], ids[best + 1]}).id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(BpeMerges, EqualTheDefinitionOnRandomRules) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::map<std::pair<int32_t, int32_t>, MergeTable::Merge> merges;
    MergeTable table(40);
    int32_t next = 4;
    for (uint32_t rank = 0; rank < 40; ++rank) {
      const std::pair pair{static_cast<int32_t>(random() % static_cast<uint32_t>(next)),
                           static_cast<int32_t>(random() % static_cast<uint32_t>(next))};
      if (merges.count(pair) > 0) continue;
      merges[pair] = {rank, next};
      table.Add(pair.first, pair.second, {rank, next});
      ++next;
    }
    BpeMerger merger(table);
    for (int word = 0; word < 50; ++word) {
      std::vector<int32_t> ids(random() % 30);
      merger.Clear();
      for (int32_t& id : ids) {
        id = static_cast<int32_t>(random() % 4);
        merger.Push(id, 1);
      }
      merger.MergeAll();
      std::vector<int32_t> merged;
      size_t bytes = 0;
      for (const BpeMerger::Symbol& symbol : merger.symbols()) {
        bytes += symbol.bytes;
        if (symbol.bytes > 0) merged.push_back(symbol.id);
      }
      ASSERT_EQ(merged, MergeByDefinition(ids, merges));
      ASSERT_EQ(bytes, ids.size());
    }
  }
}

TEST(BpeMerges, LeftmostOfEqualPairsIsMergedFirst) {
  MergeTable table(1);
  table.Add(1, 1, {0, 2});
  BpeMerger merger(table);
  for (int i = 0; i < 3; ++i) merger.Push(1, 1);
  merger.MergeAll();
  EXPECT_EQ(merger.symbols()[0].id, 2);
  EXPECT_EQ(merger.symbols()[0].bytes, 2u);
  EXPECT_EQ(merger.symbols()[2].id, 1);
}

}  // namespace
}  // namespace hagane::text
