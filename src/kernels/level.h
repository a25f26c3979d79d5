// Which of the tables of loops that a kernel has, one per level, a run uses.
#pragma once

#include "base/isa.h"

namespace hagane::kernels {

template <class Loops>
const Loops& LoopsOf(Isa isa, const Loops& baseline, const Loops& avx2, const Loops& avx512) {
  switch (isa) {
    case Isa::kAvx512:
      return avx512;
    case Isa::kAvx2:
      return avx2;
    case Isa::kReference:
      break;
  }
  return baseline;
}

}  // namespace hagane::kernels
