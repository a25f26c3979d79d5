#define HAGANE_SIMD_NAMESPACE test_baseline
#define HAGANE_SIMD_BYTES 64
#include "tests/kernels/simd_math_arrays_body.h"
