#define HAGANE_SIMD_NAMESPACE avx512
#define HAGANE_SIMD_BYTES 64
#include "kernels/convert_body.h"
