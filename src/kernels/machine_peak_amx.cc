#include <immintrin.h>

#include "kernels/machine_peak_loops.h"

namespace hagane::kernels::amx {

namespace {

// Eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

// Not a local: GCC 12's _tile_loadconfig names only the first eight bytes as read, so the stores
// that fill a local's others are dropped and the instruction faults.
constexpr TileConfig kEightFullTiles;

// Tiles 0 to 3 are the sums, 4 and 5 one operand, 6 and 7 the other: two by two.
void ZeroTiles() {
  _tile_loadconfig(&kEightFullTiles);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
}

float ReleaseTiles() {
  alignas(64) float sums[16 * 16];
  _tile_stored(0, sums, 64);
  _tile_release();
  return sums[0];
}

}  // namespace

float Bf16TileLoop(int64_t rounds) {
  ZeroTiles();
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  return ReleaseTiles();
}

float Int8TileLoop(int64_t rounds) {
  ZeroTiles();
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  return ReleaseTiles();
}

}  // namespace hagane::kernels::amx
