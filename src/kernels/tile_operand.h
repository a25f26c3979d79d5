// A matrix that is to be cut into tiles. Pointers and numbers only.
#pragma once

#include <cstdint>

namespace hagane::kernels {

// An operand of one block, in memory: element (i, p) of `rows` rows and `depth` values of k is at
// x[i * ld + p], or, `transposed`, at x[p * ld + i].
struct TileOperand {
  const uint16_t* x;
  int64_t ld;
  bool transposed;
  int64_t rows, depth;
};

}  // namespace hagane::kernels
