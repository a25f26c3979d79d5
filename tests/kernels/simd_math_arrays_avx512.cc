#define HAGANE_SIMD_NAMESPACE test_avx512
#define HAGANE_SIMD_BYTES 64
#include "tests/kernels/simd_math_arrays_body.h"
