// The functions of simd_math.h on arrays, once for each level. Vectors stay inside the files
// that define HAGANE_SIMD_NAMESPACE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hagane::kernels {

struct SimdMath {
  int64_t lanes;
  // y[i] = f(x[i]); size is a multiple of lanes. erf gets exp(-x^2) from exp.
  void (*exp)(int64_t size, const float* x, float* y);
  void (*erf)(int64_t size, const float* x, float* y);
  void (*tanh)(int64_t size, const float* x, float* y);
  void (*sigmoid)(int64_t size, const float* x, float* y);
  // y[i] = x[i] rounded to bf16 and widened.
  void (*round_to_bf16)(int64_t size, const float* x, float* y);
};

namespace test_baseline {
extern const SimdMath kSimdMath;
}
namespace test_avx2 {
extern const SimdMath kSimdMath;
}
namespace test_avx512 {
extern const SimdMath kSimdMath;
}

}  // namespace hagane::kernels
