#include "kernels/gemm_plan.h"

#include <algorithm>

namespace hagane::kernels {

namespace {

// Sizes in multiples of this: whole vectors, and fewer distinct shapes to make primitives for.
constexpr int64_t kGrain = 16;
// Enough for the threads of a small machine; a few more where blocks stay large.
constexpr int64_t kMinBlocks = 4;
constexpr int64_t kMaxBlocks = 24;
constexpr int64_t kMaxParts = 32;   // of one direction
constexpr int64_t kMinDepth = 256;  // of a part of k
// Products below this in a block (some 5 microseconds) are not worth waking another thread.
constexpr int64_t kMinBlockProducts = 1 << 19;

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The size of blocks when `total` is cut into about `parts` equal ones.
int64_t BlockSize(int64_t total, int64_t parts) {
  return std::min(total, DivideUp(DivideUp(total, parts), kGrain) * kGrain);
}

// oneDNN's AVX2 product copies its operands into the order in which they are read, which is where
// it is fast, only for blocks with 1/m + 1/n below 0.0038. Without the copies it reaches about 4/5
// of that speed, and half of it when A is transposed.
bool IsLarge(int64_t m_block, int64_t n_block) {
  return 10000 * (m_block + n_block) < 37 * m_block * n_block;
}

GemmPlan MakePlan(int64_t m, int64_t n, int64_t k, int64_t m_block, int64_t n_block,
                  int64_t k_block) {
  return {
      m_block, n_block, k_block, DivideUp(m, m_block), DivideUp(n, n_block), DivideUp(k, k_block)};
}

double Cost(int64_t m_block, int64_t n_block) {
  return 1.0 / static_cast<double>(m_block) + 1.0 / static_cast<double>(n_block);
}

// The most blocks that are all large, up to kMaxBlocks; among those the squarest. One block when
// nothing is large.
GemmPlan LargeBlocks(int64_t m, int64_t n, int64_t k) {
  GemmPlan best = MakePlan(m, n, k, m, n, k);
  double best_cost = Cost(m, n);
  for (int64_t m_parts = 1; m_parts <= kMaxParts; ++m_parts) {
    for (int64_t n_parts = 1; n_parts <= kMaxParts; ++n_parts) {
      const int64_t m_block = BlockSize(m, m_parts);
      const int64_t n_block = BlockSize(n, n_parts);
      if (!IsLarge(m_block, n_block)) break;
      const GemmPlan plan = MakePlan(m, n, k, m_block, n_block, k);
      const int64_t count = std::min(plan.blocks(), kMaxBlocks);
      const int64_t best_count = std::min(best.blocks(), kMaxBlocks);
      const double cost = Cost(m_block, n_block);
      if (count > best_count || (count == best_count && cost < best_cost)) {
        best = plan;
        best_cost = cost;
      }
    }
  }
  return best;
}

// About `parts` blocks, as square as they can be: each reads the least for its products.
GemmPlan SquareBlocks(int64_t m, int64_t n, int64_t k, int64_t parts) {
  GemmPlan best;
  double best_cost = 3.0;  // above every cost
  for (int64_t m_parts = 1; m_parts <= parts; ++m_parts) {
    const int64_t m_block = BlockSize(m, m_parts);
    const int64_t n_block = BlockSize(n, DivideUp(parts, m_parts));
    const double cost = Cost(m_block, n_block);
    if (cost < best_cost) {
      best = MakePlan(m, n, k, m_block, n_block, k);
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace

GemmPlan PlanGemm(int64_t m, int64_t n, int64_t k, GemmTraits traits) {
  const GemmPlan large = LargeBlocks(m, n, k);
  if (large.blocks() >= kMinBlocks) return large;
  if (traits.a_transposed) {
    if (!traits.may_split_k) return large;
    const int64_t k_parts = std::min(DivideUp(kMinBlocks, large.blocks()), k / kMinDepth);
    const int64_t k_block = BlockSize(k, std::max<int64_t>(k_parts, 1));
    return MakePlan(m, n, k, large.m_block, large.n_block, k_block);
  }
  const int64_t worth = m * n * k / kMinBlockProducts;
  return SquareBlocks(m, n, k, std::clamp<int64_t>(worth, 1, kMinBlocks));
}

}  // namespace hagane::kernels
