#define HAGANE_SIMD_NAMESPACE baseline
#define HAGANE_SIMD_BYTES 64
#include "kernels/attention_tiles_body.h"
