#include "data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace hagane::data {
namespace {

using Order = std::vector<int64_t>;

Order First(const Order& order, std::ptrdiff_t count) {
  return {order.begin(), order.begin() + count};
}

TEST(RandomPermutation, EqualsTorch) {
  EXPECT_EQ(RandomPermutation(10, 42), (Order{2, 6, 1, 8, 4, 5, 0, 9, 3, 7}));
  EXPECT_EQ(First(RandomPermutation(3668, 42), 8),
            (Order{3130, 2085, 762, 3357, 2158, 3436, 256, 1426}));
  EXPECT_EQ(First(RandomPermutation(3668, 43), 8),
            (Order{2628, 3360, 2605, 1880, 3145, 295, 3378, 1398}));
}

TEST(RandomPermutation, TakesTheLow32BitsOfTheSeedAsTorch) {
  // What a default generator seeded with 42 gives a sampler as its own seed.
  std::mt19937 generator(42);
  const uint64_t high = generator(), low = generator();
  const uint64_t base = (high << 32 | low) & (~uint64_t{0} >> 1);
  EXPECT_EQ(base, 6909045637428952499u);
  EXPECT_EQ(First(RandomPermutation(3668, base), 4), (Order{2588, 3119, 1374, 589}));
  EXPECT_EQ(RandomPermutation(7, base), (Order{5, 0, 1, 3, 2, 4, 6}));
}

TEST(EpochOrder, IsTheSeedPlusTheEpoch) {
  EXPECT_EQ(First(EpochOrder(3668, 42, 0), 4), (Order{3130, 2085, 762, 3357}));
  EXPECT_EQ(First(EpochOrder(3668, 42, 1), 4), (Order{2628, 3360, 2605, 1880}));
}

Features WithLengths(const std::vector<int>& lengths) {
  Features features;
  features.row_start = {0};
  for (const int length : lengths) features.row_start.push_back(features.row_start.back() + length);
  features.ids.resize(static_cast<size_t>(features.row_start.back()));
  return features;
}

std::vector<int> Lengths23() {
  std::vector<int> lengths;
  for (int i = 0; i < 23; ++i) lengths.push_back(i * 7 % 11 + 1);
  return lengths;
}

TEST(EpochOrderByLength, EqualsTheReference) {
  const Features features = WithLengths(Lengths23());
  EXPECT_EQ(
      EpochOrderByLength(features, 42, 0, 2),
      (Order{14, 17, 16, 8, 1, 2, 0, 11, 6, 18, 21, 5, 3, 15, 10, 19, 20, 4, 7, 22, 9, 12, 13}));
  EXPECT_EQ(
      EpochOrderByLength(features, 42, 1, 4),
      (Order{14, 20, 13, 16, 1, 18, 7, 10, 12, 15, 21, 11, 17, 6, 4, 8, 2, 19, 22, 0, 3, 9, 5}));
  EXPECT_EQ(
      EpochOrderByLength(features, 0, 1, 30),
      (Order{3, 14, 6, 17, 9, 20, 12, 1, 4, 15, 7, 18, 10, 21, 13, 2, 16, 5, 19, 8, 11, 22, 0}));
}

TEST(EveryOrder, HoldsEachRowOnce) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto rows = static_cast<int64_t>(random() % 150);
    std::vector<int> lengths(static_cast<size_t>(rows));
    for (int& length : lengths) length = 1 + static_cast<int>(random() % 20);
    Order expected(lengths.size());
    std::iota(expected.begin(), expected.end(), int64_t{0});
    Order order = EpochOrder(rows, random(), random() % 5);
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order, expected);
    order = EpochOrderByLength(WithLengths(lengths), random(), 1, 1 + random() % 9);
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order, expected);
  }
}

}  // namespace
}  // namespace hagane::data
