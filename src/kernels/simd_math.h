// exp, erf and tanh on vectors, for kernel bodies. Errors are against double, over all float32
// inputs (tests/kernels/simd_math_test.cc).
#pragma once

#include "kernels/simd.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

// Relative error below 2e-7; inputs below -87 give 0 or a denormal's neighbourhood (clamped there),
// above 88 they are clamped; NaN stays NaN.
HAGANE_INLINE Vec Exp(Vec x) {
  // x = n ln 2 + r with |r| <= ln 2 / 2; ln 2 in two parts so that n * high is exact.
  constexpr float kLog2e = 1.44269504088896341f;
  constexpr float kLn2High = 0.693359375f;
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  const Vec clamped = x < -87.0f ? Set(-87.0f) : (x > 88.0f ? Set(88.0f) : x);
  const Vec shifted = clamped * kLog2e + kRound;
  const Vec n = shifted - kRound;
  const Vec r = (clamped - n * kLn2High) - n * kLn2Low;
  // The Taylor polynomial of degree 7; its remainder is below 5e-9 on this interval.
  Vec p = Set(1.0f / 5040.0f);
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // 2^n by its exponent bits: the low bits of `shifted` are n.
  const VecUint scale = (BitCast<VecUint>(shifted) << 23) + 0x3f800000u;
  const Vec result = p * BitCast<Vec>(scale);
  return x < -87.0f ? Vec{} : result;
}

// Absolute error below 7e-7: 1.5e-7 of Abramowitz and Stegun, Handbook of Mathematical Functions,
// 7.1.26, the rest by rounding where the result is small. `exp_minus_square` = exp(-x^2), which
// callers need as well.
HAGANE_INLINE Vec Erf(Vec x, Vec exp_minus_square) {
  const Vec a = Abs(x);
  const Vec t = 1.0f / (1.0f + 0.3275911f * a);
  Vec p = Set(1.061405429f);
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const Vec result = 1.0f - p * t * exp_minus_square;
  return x < 0.0f ? -result : result;
}

// Absolute error below 3e-7.
HAGANE_INLINE Vec Tanh(Vec x) {
  const Vec a = Min(Abs(x), Set(20.0f));
  const Vec result = 1.0f - 2.0f / (Exp(2.0f * a) + 1.0f);
  return x != x ? x : (x < 0.0f ? -result : result);
}

// 1 / (1 + exp(-x)); absolute error below 2e-7.
HAGANE_INLINE Vec Sigmoid(Vec x) { return 1.0f / (1.0f + Exp(-x)); }

}  // namespace
}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
