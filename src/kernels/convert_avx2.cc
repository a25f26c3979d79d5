#define HAGANE_SIMD_NAMESPACE avx2
#define HAGANE_SIMD_BYTES 32
#include "kernels/convert_body.h"
