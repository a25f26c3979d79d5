#include "data/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace hagane::data {
namespace {

using Ints = std::vector<int32_t>;

Features OfRows(const std::vector<Ints>& rows) {
  Features features;
  features.row_start = {0};
  for (const Ints& row : rows) {
    features.ids.insert(features.ids.end(), row.begin(), row.end());
    features.row_start.push_back(features.tokens());
  }
  return features;
}

constexpr PositionRule kBert{};
constexpr PositionRule kRoberta{2, 1};

TEST(Positions, CountFromTheOffset) {
  PackedBatch batch;
  PackRows(OfRows({{7, 8, 9}, {5, 0}}), std::vector<int64_t>{1, 0}, 0, kBert, &batch);
  EXPECT_EQ(batch.positions, (Ints{0, 1, 0, 1, 2}));
}

TEST(Positions, OfRobertaStartBehindThePadId) {
  PackedBatch batch;
  AppendRow(OfRows({{0, 31414, 232, 2}}), 0, 0, kRoberta, &batch);
  EXPECT_EQ(batch.positions, (Ints{2, 3, 4, 5}));
}

TEST(Positions, OfALiteralPadInTheTextIsThePadIdAndIsNotCounted) {
  PackedBatch batch;
  AppendRow(OfRows({{0, 9, 1, 1, 8, 2}}), 0, 0, kRoberta, &batch);
  EXPECT_EQ(batch.positions, (Ints{2, 3, 1, 1, 4, 5}));
}

TEST(Labels, GoWithTheirRowsAndOnlyWhereThereAreSome) {
  Features features = OfRows({{1}, {2}, {3}});
  features.class_labels = {-1, -1, -1};
  const std::vector<int64_t> rows = {2, 0};
  PackedBatch batch;
  PackRows(features, rows, 0, kBert, &batch);
  EXPECT_TRUE(batch.class_labels.empty());

  features.has_labels = true;
  features.class_labels = {4, 5, 6};
  PackRows(features, rows, 0, kBert, &batch);
  EXPECT_EQ(batch.class_labels, (Ints{6, 4}));

  features.problem = ProblemType::kMultiLabel;
  features.outputs = 2;
  features.float_labels = {0, 1, 0, 0, 1, 1};
  PackRows(features, rows, 0, kBert, &batch);
  EXPECT_EQ(batch.float_labels, (std::vector<float>{1, 1, 0, 1}));
  EXPECT_TRUE(batch.class_labels.empty());
}

TEST(PackRows, KeepsTheInvariantsOfThePackedBatch) {
  std::mt19937 random(11);
  PackedBatch batch;
  for (int round = 0; round < 200; ++round) {
    std::vector<Ints> rows(1 + random() % 8);
    for (Ints& row : rows) {
      row.resize(1 + random() % 12);
      for (int32_t& id : row) id = static_cast<int32_t>(random() % 50);
    }
    Features features = OfRows(rows);
    const bool segments = random() % 2 == 0;
    if (segments) {
      for (const int32_t id : features.ids)
        features.segments.push_back(static_cast<uint8_t>(id % 2));
    }
    std::vector<int64_t> chosen(random() % 6);
    for (int64_t& row : chosen) row = static_cast<int64_t>(random() % rows.size());
    PackRows(features, chosen, 100, kBert, &batch);

    ASSERT_EQ(batch.cu_seqlens.front(), 0);
    ASSERT_EQ(batch.sequences(), static_cast<int>(chosen.size()));
    const auto tokens = static_cast<size_t>(batch.tokens());
    for (const size_t size : {batch.ids.size(), batch.positions.size(), batch.segments.size(),
                              batch.token_sample.size(), batch.token_index.size()}) {
      ASSERT_EQ(size, tokens);
    }
    for (size_t s = 0; s < chosen.size(); ++s) {
      const Ints& row = rows[static_cast<size_t>(chosen[s])];
      ASSERT_EQ(batch.length(static_cast<int>(s)), static_cast<int>(row.size()));
      ASSERT_EQ(batch.samples[s], 100 + s);
      for (size_t i = 0; i < row.size(); ++i) {
        const size_t t = static_cast<size_t>(batch.cu_seqlens[s]) + i;
        ASSERT_EQ(batch.ids[t], row[i]);
        ASSERT_EQ(batch.positions[t], static_cast<int32_t>(i));
        ASSERT_EQ(batch.segments[t], segments ? row[i] % 2 : 0);
        ASSERT_EQ(batch.token_sample[t], 100 + s);
        ASSERT_EQ(batch.token_index[t], i);
      }
    }
  }
}

TEST(LargestBatchTokens, BoundsEveryBatchAndIsReached) {
  const Features features = OfRows({Ints(3), Ints(9), Ints(1), Ints(7)});
  EXPECT_EQ(LargestBatchTokens(features, 1), 9);
  EXPECT_EQ(LargestBatchTokens(features, 2), 16);
  EXPECT_EQ(LargestBatchTokens(features, 100), 20);
  EXPECT_EQ(LargestBatchTokens(Features{}, 4), 0);
}

}  // namespace
}  // namespace hagane::data
