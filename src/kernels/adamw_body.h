#pragma once

#include "kernels/adamw_loops.h"
#include "kernels/simd.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

void Update(int64_t size, const AdamWFactors& f, const float* grad, float* param, float* exp_avg,
            float* exp_avg_sq, uint16_t* param_bf16) {
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
    if (param_bf16 != nullptr) StoreBf16N(p, param_bf16 + i, n);
  }
}

double SumOfSquaresOf(int64_t size, const float* x) {
  typedef double VecDouble __attribute__((vector_size(2 * HAGANE_SIMD_BYTES)));
  VecDouble sum = {};
  HAGANE_FOR_ROW(i, n, size) {
    const VecDouble wide = __builtin_convertvector(LoadN(x + i, n), VecDouble);
    sum += wide * wide;
  }
  double total = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) total += sum[lane];
  return total;
}

}  // namespace

const AdamWLoops kAdamWLoops = {Update, SumOfSquaresOf};

}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
