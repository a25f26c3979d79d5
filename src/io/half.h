// IEEE half precision as storage: the F16 of weight files.
#pragma once

#include <bit>
#include <cstdint>

namespace hagane::io {

// Exact: every half is a float, subnormals, infinities and NaN payloads included.
inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  }
  if (magnitude < 0x0400u) {  // zero, subnormal: multiples of 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + (uint32_t{127 - 15} << 23)));
}

}  // namespace hagane::io
