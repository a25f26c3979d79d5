#define HAGANE_SIMD_NAMESPACE amx
#define HAGANE_SIMD_BYTES 64
#define HAGANE_HARDWARE_TILES
#include "kernels/attention_tiles_body.h"
