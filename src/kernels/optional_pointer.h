// Places in arrays that a kernel's arguments may leave out.
#pragma once

#include <cstdint>

#include "base/bf16.h"

namespace hagane::kernels {

// p + n; null stays null.
template <class T>
T* Offset(T* p, int64_t n) {
  return p == nullptr ? nullptr : p + n;
}
// The same as the 16 bits that the files of the levels know bf16 by.
inline const uint16_t* Bits(const bf16* p, int64_t n) {
  return p == nullptr ? nullptr : &p[n].bits;
}
inline uint16_t* Bits(bf16* p, int64_t n) { return p == nullptr ? nullptr : &p[n].bits; }

}  // namespace hagane::kernels
