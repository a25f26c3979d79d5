#pragma once

#include "kernels/simd_math.h"
#include "tests/kernels/simd_math_arrays.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

HAGANE_INLINE Vec ErfAlone(Vec x) { return Erf(x, Exp(-(x * x))); }

template <Vec (*kFunction)(Vec)>
void ForArray(int64_t size, const float* x, float* y) {
  for (int64_t i = 0; i < size; i += kLanes) Store(kFunction(Load(x + i)), y + i);
}

}  // namespace

const SimdMath kSimdMath = {kLanes,         ForArray<Exp>,     ForArray<ErfAlone>,
                            ForArray<Tanh>, ForArray<Sigmoid>, ForArray<RoundToBf16>};

}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
