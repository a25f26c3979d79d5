// The reducer against plain sums: buckets in backward order, rows of the table, idle ranks.
#include "comm/gradient_reducer.h"

#include <gtest/gtest.h>

#include "thread_wire.h"

namespace hagane::comm {
namespace {

constexpr int64_t kWidth = 24, kRows = 131;
constexpr RowTable kTable{64, kRows, kWidth};
constexpr int64_t kSize = 64 + kRows * kWidth + 5'000'003;  // three buckets behind the table

float Gradient(int rank, int64_t i) { return static_cast<float>((i + rank * 5) % 11 - 5); }

// The rows a rank uses; the last rank uses none.
std::vector<int32_t> RowsOf(int rank, int ranks) {
  if (rank == ranks - 1) return {};
  return {static_cast<int32_t>(rank), 7, 7, 64, 130 - rank};
}

class GradientReducerTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, GradientReducerTest, testing::Values(1, 2, 3, 4));

TEST_P(GradientReducerTest, SumsWhatAllRanksAddedInEveryUpdate) {
  const int ranks = GetParam();
  ThreadNetwork network(ranks);
  // What each rank adds: everything beside the table, and of the table the rows it uses.
  const auto gradients = [&](int rank) {
    std::vector<float> values(static_cast<size_t>(kSize), 0.0f);
    if (rank == ranks - 1 && ranks > 1) return values;
    for (int64_t i = 0; i < kSize; ++i) {
      if (i < kTable.offset || i >= kTable.offset + kRows * kWidth) {
        values[static_cast<size_t>(i)] = Gradient(rank, i);
      }
    }
    for (const int32_t row : RowsOf(rank, ranks)) {
      for (int64_t c = 0; c < kWidth; ++c) {
        const int64_t at = kTable.offset + row * kWidth + c;
        values[static_cast<size_t>(at)] = Gradient(rank, at);
      }
    }
    return values;
  };
  std::vector<float> sums(static_cast<size_t>(kSize), 0.0f);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto values = gradients(rank);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
  }

  RunGroups(&network, {20, 10, 0.2}, [&](Group* group) {
    const int rank = group->rank();
    RunContext ctx;
    ctx.threads = 1;
    std::vector<float> grads(static_cast<size_t>(kSize));
    GradientReducer reducer(ctx, group, WireType::kFloat32, grads.data(), kSize, kTable);
    for (int update = 0; update < 2; ++update) {
      const std::vector<float> mine = gradients(rank);
      std::copy(mine.begin(), mine.end(), grads.begin());
      reducer.Begin(RowsOf(rank, ranks), "gradients", Patience{15});
      if (rank != ranks - 1) {
        reducer.Ready(3'000'000);
        reducer.Ready(2'999'000);
        reducer.Ready(kTable.offset);
      }
      reducer.Finish();
      ASSERT_EQ(grads, sums) << "rank " << rank << ", update " << update;
    }
    if (ranks > 1) {
      EXPECT_GT(reducer.times().total, 0.0);
    }
  });
}

TEST(GradientReducerTest, SendsOnlyTheRowsThatAreUsed) {
  ThreadNetwork network(2);
  constexpr int64_t kLargeRows = 30000;
  RunGroups(&network, {20, 10, 0.2}, [&](Group* group) {
    RunContext ctx;
    ctx.threads = 1;
    std::vector<float> grads(static_cast<size_t>(kLargeRows * kWidth), 0.0f);
    GradientReducer reducer(ctx, group, WireType::kFloat32, grads.data(), std::ssize(grads),
                            {0, kLargeRows, kWidth});
    const std::vector<int32_t> ids{3, 29999};
    reducer.Begin(ids, "gradients", Patience{15});
    reducer.Finish();
  });
  // Two bitmaps of 30,000 rows and two rows, not 2.9 MB.
  EXPECT_LT(network.bytes(), 20000);
}

}  // namespace
}  // namespace hagane::comm
