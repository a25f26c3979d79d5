// bfloat16 as storage: the upper half of an IEEE float32. Arithmetic is done in float32.
// Rounding is to nearest, ties to even; NaN stays NaN (quiet), infinities stay.
#pragma once

#include <bit>
#include <cstdint>

namespace hagane {

struct bf16 {
  uint16_t bits;
};
static_assert(sizeof(bf16) == 2);

inline float ToFloat(bf16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }

inline bf16 ToBf16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return bf16{static_cast<uint16_t>((u >> 16) | 0x40u)};
  return bf16{static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
}

}  // namespace hagane
