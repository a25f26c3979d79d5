// The two products of bf16 operands that meet the activation of a feed-forward block, with what
// stands between: on tiles it is done while a block of the product is in cache.
#pragma once

#include "base/bf16.h"
#include "kernels/activation_kinds.h"
#include "kernels/gemm.h"

namespace hagane::kernels {

// z = A B + bias;  a = act(z) and slope = act'(z), both rounded to bf16
struct GemmActivationArgs {
  GemmArgs product;  // c and c_bf16 unset; ldc is that of a and slope, n (dense)
  Activation activation = Activation::kGelu;
  bf16* a = nullptr;      // [m, n] out
  bf16* slope = nullptr;  // [m, n] out
};
void GemmActivation(const RunContext& ctx, const GemmActivationArgs& args);

// dz = (A B) * slope, rounded to bf16; dbias += column sums of dz before it is rounded
struct GemmSlopeArgs {
  GemmArgs product;             // c, c_bf16 and bias unset; ldc is n (dense)
  const bf16* slope = nullptr;  // [m, n]
  bf16* dz = nullptr;           // [m, n] out
  float* dbias = nullptr;       // [n] +=
};
void GemmSlope(const RunContext& ctx, const GemmSlopeArgs& args);

}  // namespace hagane::kernels
