// The loops behind convert.h on one contiguous range and one thread, per level. bf16 values are
// passed as their 16 bits: the files of the levels include nothing but this and the intrinsics.
#pragma once

#include <cstdint>

namespace hagane {
enum class Isa;
}

namespace hagane::kernels {

struct ConvertLoops {
  void (*to_bf16)(int64_t size, const float* x, uint16_t* y);
  void (*to_float32)(int64_t size, const uint16_t* x, float* y);
  void (*fill)(int64_t size, float value, float* y);
  void (*add)(int64_t size, const float* x, float* y);  // y += x
};

// For kernels that convert pieces of their own work.
const ConvertLoops& ConvertLoopsFor(Isa isa);

namespace baseline {
extern const ConvertLoops kConvertLoops;
}
namespace avx2 {
extern const ConvertLoops kConvertLoops;
}
namespace avx512 {
extern const ConvertLoops kConvertLoops;
}

}  // namespace hagane::kernels
