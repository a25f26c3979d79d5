// One fused pass of AdamW in torch's form over flat buffers (Loshchilov & Hutter 2019):
//
//   g = clip * grad;  p *= 1 - lr * wd  (only where decayed)
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//   p -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
//
// and the compute copy of p, rounded to bf16, when there is one. Elementwise: any order gives the
// same bits. Buffers must not overlap.
#pragma once

#include <cstdint>

#include "base/bf16.h"
#include "base/run_context.h"

namespace hagane::kernels {

struct AdamWArgs {
  int64_t size = 0;
  const float* grad = nullptr;
  float* param = nullptr;
  float* exp_avg = nullptr;
  float* exp_avg_sq = nullptr;
  bf16* param_bf16 = nullptr;  // or null
  float* zeroed = nullptr;     // set to 0 behind the update: grad again, or null
  float clip = 1.0f;           // factor on every gradient
  double lr = 0.0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.0;  // 0: not decayed
  int64_t step = 1;                                                             // t, from 1
};
void AdamW(const RunContext& ctx, const AdamWArgs& args);
void AdamWReference(const AdamWArgs& args);

// Sum of squares in double, by fixed chunks added in order: bits do not depend on threads.
double SumOfSquares(const RunContext& ctx, int64_t size, const float* x);

}  // namespace hagane::kernels
