// Operands cut into tiles and the product of two pairs of them, for bodies over tiles.h.
#pragma once

#include "kernels/tile_operand.h"
#include "kernels/tiles.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

constexpr int64_t kBlock = 2 * kTileRows;  // rows and columns of C in hand: 2 x 2 tiles of sums

// Packed: for each two tiles of rows, for each tile of k, the two tiles.
template <bool kPairs>
[[maybe_unused]] void Pack(const TileOperand& operand, uint16_t* packed) {
  for (int64_t first = 0; first < operand.rows; first += kBlock) {
    for (int64_t p = 0; p < operand.depth; p += kTileDepth) {
      for (int64_t i = first; i < first + kBlock; i += kTileRows) {
        const int64_t rows = operand.rows - i, depth = operand.depth - p;
        VecUint words[16] = {};
        if (rows > 0 && operand.transposed) {
          LoadRowPairs(operand.x + p * operand.ld + i, operand.ld, depth, rows, words);
          if (!kPairs) TransposeWords(words);
        } else if (rows > 0) {
          LoadWordRows(operand.x + i * operand.ld + p, operand.ld, rows, depth, words);
          if (kPairs) TransposeWords(words);
        }
        StoreTile(words, packed);
        packed += kTileSize;
      }
    }
  }
}

// sums[kBlock][kBlock], rows `ld` apart, = two tiles of rows times two of columns over `depth`
// tiles of k.
HAGANE_INLINE void MultiplyTiles(Tiles& tiles, int64_t depth, const uint16_t* a, const uint16_t* b,
                                 float* sums, int64_t ld) {
  const int64_t row = ld * static_cast<int64_t>(sizeof(float));
  tiles.Zero<0>();
  tiles.Zero<1>();
  tiles.Zero<2>();
  tiles.Zero<3>();
  for (int64_t p = 0; p < depth; ++p, a += 2 * kTileSize, b += 2 * kTileSize) {
    tiles.Load<6>(b, kTileBytes);
    tiles.Load<4>(a, kTileBytes);
    tiles.Dot<0, 4, 6>();
    tiles.Load<7>(b + kTileSize, kTileBytes);
    tiles.Dot<1, 4, 7>();
    tiles.Load<5>(a + kTileSize, kTileBytes);
    tiles.Dot<2, 5, 6>();
    tiles.Dot<3, 5, 7>();
  }
  float* const lower = sums + kTileRows * ld;
  tiles.Store<0>(sums, row);
  tiles.Store<1>(sums + kTileRows, row);
  tiles.Store<2>(lower, row);
  tiles.Store<3>(lower + kTileRows, row);
}

}  // namespace
}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
