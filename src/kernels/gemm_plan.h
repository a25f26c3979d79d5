// How a product is cut into blocks. A function of the sizes alone: never of threads.
#pragma once

#include <cstdint>

namespace hagane::kernels {

struct GemmPlan {
  // Block sizes; the last block of a direction is what remains.
  int64_t m_block = 0, n_block = 0, k_block = 0;
  int64_t m_blocks = 0, n_blocks = 0;
  // More than 1 only for weight gradients of few blocks: fixed parts of k (tokens) are summed apart
  // and added to C in order.
  int64_t k_blocks = 0;

  int64_t blocks() const { return m_blocks * n_blocks * k_blocks; }
};

struct GemmTraits {
  bool a_transposed = false;  // a weight gradient
  bool may_split_k = true;    // C is float32, so that parts of k can be added to it
};

// m, n, k > 0.
GemmPlan PlanGemm(int64_t m, int64_t n, int64_t k, GemmTraits traits);

}  // namespace hagane::kernels
