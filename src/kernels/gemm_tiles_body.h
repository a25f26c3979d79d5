#pragma once

#include "kernels/activation_functions.h"
#include "kernels/gemm_tiles_loops.h"
#include "kernels/tile_product.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

int64_t PackedSize(int64_t rows, int64_t depth) {
  const int64_t row_blocks = (rows + kBlock - 1) / kBlock;
  const int64_t depth_tiles = (depth + kTileDepth - 1) / kTileDepth;
  return row_blocks * depth_tiles * 2 * kTileSize;
}

// What happens to a finished part of C: value(row, column, n, sums) for each vector of it. The
// pointers are copied out of `TileBlock`, which stores through them could change for all the
// compiler knows.

struct ToC {
  float* c;
  uint16_t* c_bf16;
  int64_t ld;
  const float* bias;
  bool accumulate;
  explicit ToC(const TileBlock& block)
      : c(block.c),
        c_bf16(block.c_bf16),
        ld(block.ldc),
        bias(block.bias),
        accumulate(block.accumulate) {}
  HAGANE_INLINE void operator()(int64_t row, int64_t column, int64_t n, Vec value) const {
    const int64_t at = row * ld + column;
    if (bias != nullptr) value += LoadN(bias + column, n);
    if (c == nullptr) return StoreBf16N(value, c_bf16 + at, n);
    if (accumulate) value += LoadN(c + at, n);
    StoreN(value, c + at, n);
  }
};

template <class Function>
struct Activate {
  uint16_t *a, *slope;
  int64_t ld;
  const float* bias;
  explicit Activate(const TileBlock& block)
      : a(block.c_bf16), slope(block.slope_out), ld(block.ldc), bias(block.bias) {}
  HAGANE_INLINE void operator()(int64_t row, int64_t column, int64_t n, Vec z) const {
    if (bias != nullptr) z += LoadN(bias + column, n);
    const int64_t at = row * ld + column;
    Vec value, slope_of_z;
    ValueAndSlope<Function>(z, &value, &slope_of_z);
    StoreBf16N(value, a + at, n);
    StoreBf16N(slope_of_z, slope + at, n);
  }
};

struct TimesSlope {
  uint16_t* c;
  const uint16_t* slope;
  int64_t ld;
  float* column_sums;
  explicit TimesSlope(const TileBlock& block)
      : c(block.c_bf16), slope(block.slope_in), ld(block.ldc), column_sums(block.column_sums) {}
  HAGANE_INLINE void operator()(int64_t row, int64_t column, int64_t n, Vec value) const {
    const int64_t at = row * ld + column;
    value *= LoadBf16N(slope + at, n);
    StoreBf16N(value, c + at, n);
    StoreN(LoadN(column_sums + column, n) + value, column_sums + column, n);
  }
};

template <class Finish>
void BlockWith(const TileBlock& block) {
  Tiles tiles;
  const Finish finish(block);
  alignas(64) float sums[kBlock * kBlock];
  const int64_t panel = block.depth_tiles * 2 * kTileSize;  // packed values of kBlock rows
  for (int64_t column = 0; column < block.columns; column += kBlock) {
    const int64_t width = block.columns - column;
    for (int64_t row = 0; row < block.rows; row += kBlock) {
      MultiplyTiles(tiles, block.depth_tiles, block.a + row / kBlock * panel,
                    block.b + column / kBlock * panel, sums, kBlock);
      const int64_t rows = block.rows - row < kBlock ? block.rows - row : kBlock;
      for (int64_t i = 0; i < rows; ++i) {
        const float* const sum = sums + i * kBlock;
        if (width >= kBlock) {
          finish(row + i, column, kLanes, Load(sum));
          finish(row + i, column + kLanes, kLanes, Load(sum + kLanes));
        } else {
          HAGANE_FOR_ROW(j, n, width) finish(row + i, column + j, n, Load(sum + j));
        }
      }
    }
  }
}

void Block(const TileBlock& block) {
  if (block.slope_in != nullptr) return BlockWith<TimesSlope>(block);
  if (block.slope_out == nullptr) return BlockWith<ToC>(block);
  WithFunction(block.activation, [&]<class Function>() { BlockWith<Activate<Function>>(block); });
}

}  // namespace

const TileGemmLoops kTileGemmLoops = {PackedSize, Pack<false>, Pack<true>, Block};

}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
