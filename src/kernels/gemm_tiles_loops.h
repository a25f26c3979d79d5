// The parts of gemm_tiles.h on one thread: operands cut into tiles, and a block of C from them.
// Pointers and numbers only. `amx` needs the tile state (CpuFeatures::amx_bf16); `baseline` runs
// anywhere.
#pragma once

#include <cstdint>

#include "kernels/tile_operand.h"

namespace hagane::kernels {

enum class Activation;

// C[rows, columns] = A B, with what follows while a block of it is in cache.
struct TileBlock {
  int64_t rows, columns;
  int64_t depth_tiles;
  const uint16_t *a, *b;  // packed
  float* c;               // exactly one of these two; rows ldc apart
  uint16_t* c_bf16;
  int64_t ldc;
  const float* bias;  // [columns] or null
  bool accumulate;
  // slope_out given: a = act(C + bias) goes to c_bf16 and its slope there.
  Activation activation;
  uint16_t* slope_out;
  // slope_in given: C times it goes to c_bf16, and the columns of that are added to column_sums.
  const uint16_t* slope_in;
  float* column_sums;  // [columns]
};

struct TileGemmLoops {
  // bf16 values that `rows` rows take packed: whole pairs of tiles.
  int64_t (*packed_size)(int64_t rows, int64_t depth);
  // A (rows are C's) and B (rows are C's columns) in the order in which `block` reads them.
  void (*pack_a)(const TileOperand& operand, uint16_t* packed);
  void (*pack_b)(const TileOperand& operand, uint16_t* packed);
  void (*block)(const TileBlock& block);
};

namespace baseline {
extern const TileGemmLoops kTileGemmLoops;
}
namespace amx {
extern const TileGemmLoops kTileGemmLoops;
}

}  // namespace hagane::kernels
