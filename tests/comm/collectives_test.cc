// Collectives on 1 to 8 ranks (threads), of sizes that divide and that do not, by exact sums.
#include "comm/collectives.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/aligned_buffer.h"
#include "base/bf16.h"
#include "comm/group.h"
#include "thread_wire.h"

namespace hagane::comm {
namespace {

constexpr Deadlines kDeadlines{20, 10, 0.2};

RunContext OneThread() {
  RunContext ctx;
  ctx.threads = 1;
  return ctx;
}

template <class Body>
void ForEachGroup(int ranks, Body body) {
  ThreadNetwork network(ranks);
  RunGroups(&network, kDeadlines, body);
}

class CollectivesTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, CollectivesTest, testing::Range(1, 9));

// Integers small enough for bf16 and their sums.
float Value(int rank, int64_t i) { return static_cast<float>((i * 7 + rank * 3) % 16); }

TEST_P(CollectivesTest, AllReduceGivesTheExactSumsOfIntegers) {
  const int ranks = GetParam();
  for (const WireType type : {WireType::kFloat32, WireType::kBf16}) {
    for (const int64_t size : {0, 1, 2, 31, 33, 100, 4097, 100001}) {
      ForEachGroup(ranks, [&](Group* group) {
        const RunContext ctx = OneThread();
        std::vector<float> values(static_cast<size_t>(size));
        for (int64_t i = 0; i < size; ++i) {
          values[static_cast<size_t>(i)] = Value(group->rank(), i);
        }
        AlignedBuffer<std::byte> scratch(AllReduceScratch(size, type, ranks));
        group->engine()->Run(AllReduce(ctx, values, type, scratch.span()), "sums", 10);
        for (int64_t i = 0; i < size; ++i) {
          float sum = 0;
          for (int rank = 0; rank < ranks; ++rank) sum += Value(rank, i);
          ASSERT_EQ(values[static_cast<size_t>(i)], sum) << "size " << size << " at " << i;
        }
      });
    }
  }
}

TEST_P(CollectivesTest, AllReduceAddsInRankOrderAndRoundsTheSumOnce) {
  const int ranks = GetParam();
  const int64_t size = 1000;
  const auto value = [](int rank, int64_t i) {
    return 1.0f / static_cast<float>(1 + rank) + 1e-3f * static_cast<float>(i);
  };
  for (const WireType type : {WireType::kFloat32, WireType::kBf16}) {
    ForEachGroup(ranks, [&](Group* group) {
      std::vector<float> values(static_cast<size_t>(size));
      for (int64_t i = 0; i < size; ++i) values[static_cast<size_t>(i)] = value(group->rank(), i);
      AlignedBuffer<std::byte> scratch(AllReduceScratch(size, type, ranks));
      group->engine()->Run(AllReduce(OneThread(), values, type, scratch.span()), "sums", 10);
      for (int64_t i = 0; i < size; ++i) {
        float sum = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const float sent = value(rank, i);
          sum += type == WireType::kBf16 && ranks > 1 ? ToFloat(ToBf16(sent)) : sent;
        }
        if (type == WireType::kBf16 && ranks > 1) sum = ToFloat(ToBf16(sum));
        ASSERT_EQ(values[static_cast<size_t>(i)], sum) << i;
      }
    });
  }
}

TEST_P(CollectivesTest, AllReduceSendsNoMoreThanTheBound) {
  const int ranks = GetParam();
  const int64_t size = 32 * 840;  // divides into whole parts for 1 to 8 ranks
  ThreadNetwork network(ranks);
  int64_t before = 0, after = 0;
  RunGroups(&network, kDeadlines, [&](Group* group) {
    const int rank = group->rank();
    std::vector<float> values(static_cast<size_t>(size), 1.0f);
    AlignedBuffer<std::byte> scratch(AllReduceScratch(size, WireType::kFloat32, ranks));
    group->Barrier("start");
    if (rank == 0) before = network.bytes();
    group->Barrier("count");
    group->engine()->Run(AllReduce(OneThread(), values, WireType::kFloat32, scratch.span()), "sums",
                         10);
    if (rank == 0) after = network.bytes();
    group->Barrier("end");
  });
  // Of all ranks together; the barriers send a byte for each pair.
  const int64_t bound = 2 * (ranks - 1) * size * static_cast<int64_t>(sizeof(float));
  EXPECT_LE(after - before, bound + 2 * ranks * ranks);
}

TEST_P(CollectivesTest, TextsOfAllSizesArriveEverywhere) {
  const int ranks = GetParam();
  ForEachGroup(ranks, [&](Group* group) {
    const auto text_of = [](int rank) {
      return std::string(static_cast<size_t>(rank) * 1000, static_cast<char>('a' + rank));
    };
    const auto all = group->AllGather(text_of(group->rank()), "texts");
    ASSERT_EQ(all.size(), static_cast<size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(all[static_cast<size_t>(rank)], text_of(rank));
    }
    const auto gathered = group->GatherAtLeader(text_of(group->rank()), "texts");
    EXPECT_EQ(gathered, group->leads() ? all : std::vector<std::string>());
  });
}

TEST_P(CollectivesTest, TheLeadersTextReplacesAllOthers) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65536}, size_t{65537}, size_t{1000003}}) {
    std::string text(size, ' ');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 % 251);
    ForEachGroup(GetParam(), [&](Group* group) {
      EXPECT_EQ(group->FromLeader(group->leads() ? text : "another", "the text"), text);
    });
  }
}

TEST_P(CollectivesTest, SumsAndAny) {
  const int ranks = GetParam();
  ForEachGroup(ranks, [&](Group* group) {
    EXPECT_EQ(group->Sum({1.0, static_cast<double>(group->rank())}, "sums"),
              (std::vector<double>{static_cast<double>(ranks), ranks * (ranks - 1) / 2.0}));
    EXPECT_TRUE(group->Any(group->rank() == ranks - 1, "any"));
    EXPECT_FALSE(group->Any(false, "any"));
  });
}

}  // namespace
}  // namespace hagane::comm
