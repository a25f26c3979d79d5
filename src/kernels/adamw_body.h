#pragma once

#include "kernels/adamw_loops.h"
#include "kernels/simd.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

void Update(int64_t size, const AdamWFactors& f, const float* grad, float* param, float* exp_avg,
            float* exp_avg_sq, uint16_t* param_bf16, float* zeroed) {
  HAGANE_FOR_ROW(i, n, size) {
    const Vec g = LoadN(grad + i, n) * f.clip;
    Vec m = LoadN(exp_avg + i, n);
    Vec v = LoadN(exp_avg_sq + i, n);
    m += (g - m) * f.one_minus_b1;
    v = v * f.b2 + g * g * f.one_minus_b2;
    const Vec denominator = Sqrt(v) * f.inverse_root + f.eps;
    const Vec p = LoadN(param + i, n) * f.keep - f.rate * m / denominator;
    StoreN(m, exp_avg + i, n);
    StoreN(v, exp_avg_sq + i, n);
    StoreN(p, param + i, n);
    if (zeroed != nullptr) StoreN(Vec{}, zeroed + i, n);
    if (param_bf16 != nullptr) StoreBf16N(p, param_bf16 + i, n);
  }
}

double SumOfSquaresOf(int64_t size, const float* x) {
  // In halves, so that each is one register of doubles (the whole would be taken apart in memory).
  typedef float HalfVec __attribute__((vector_size(HAGANE_SIMD_BYTES / 2)));
  typedef double VecDouble __attribute__((vector_size(HAGANE_SIMD_BYTES)));
  struct Halves {
    HalfVec half[2];
  };
  VecDouble sums[2] = {};
  HAGANE_FOR_ROW(i, n, size) {
    const Halves halves = BitCast<Halves>(LoadN(x + i, n));
    for (int k = 0; k < 2; ++k) {
      const VecDouble wide = __builtin_convertvector(halves.half[k], VecDouble);
      sums[k] += wide * wide;
    }
  }
  const VecDouble sum = sums[0] + sums[1];
  double total = 0;
  for (int64_t lane = 0; lane < kLanes / 2; ++lane) total += sum[lane];
  return total;
}

}  // namespace

const AdamWLoops kAdamWLoops = {Update, SumOfSquaresOf};

}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
