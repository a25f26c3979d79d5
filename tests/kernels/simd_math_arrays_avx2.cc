#define HAGANE_SIMD_NAMESPACE test_avx2
#define HAGANE_SIMD_BYTES 32
#include "tests/kernels/simd_math_arrays_body.h"
