// Tile registers, for bodies that are compiled once for AMX and once for any machine. A file
// NAME_amx.cc defines HAGANE_HARDWARE_TILES and gets the instructions; elsewhere the same
// operations are plain loops over the same eight tiles, so that what is written over them is tested
// everywhere.
//
// A tile is 16 rows of 64 bytes. Dot<C, A, B>: C[16][16] += A * B, float32 sums of bf16 products;
// A holds 16 rows of 32 values, B 16 pairs of rows: B[r][2 j] and B[r][2 j + 1] are the values of
// rows 2 r and 2 r + 1 in column j.
#pragma once

#include "kernels/simd.h"

#if defined(HAGANE_HARDWARE_TILES)
#include <immintrin.h>
#endif

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileDepth = 32;                     // values of k in a tile of an operand
constexpr int64_t kTileSize = kTileRows * kTileDepth;  // bf16 values of an operand's tile
constexpr int64_t kTileBytes = 64;                     // of a row

#if defined(HAGANE_HARDWARE_TILES)

// Palette 1 with eight full tiles. Not a local: GCC 12's _tile_loadconfig names only the first
// eight bytes as read, so stores that fill the others would be dropped.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig kEightFullTiles;

// Between construction and destruction this thread's tiles are in use.
class Tiles {
 public:
  Tiles() { _tile_loadconfig(&kEightFullTiles); }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  template <int kTile>
  HAGANE_INLINE void Zero() {
    __asm__ volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  // Rows `stride` bytes apart.
  template <int kTile>
  HAGANE_INLINE void Load(const void* p, int64_t stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  HAGANE_INLINE void Store(void* p, int64_t stride) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kC, int kA, int kB>
  HAGANE_INLINE void Dot() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kC), "i"(kA), "i"(kB));
  }
};

#else

class Tiles {
 public:
  template <int kTile>
  void Zero() {
    for (VecUint& row : memory_[kTile]) row = VecUint{};
  }
  template <int kTile>
  void Load(const void* p, int64_t stride) {
    for (int64_t row = 0; row < kTileRows; ++row) {
      __builtin_memcpy(&memory_[kTile][row], static_cast<const char*>(p) + row * stride,
                       kTileBytes);
    }
  }
  template <int kTile>
  void Store(void* p, int64_t stride) {
    for (int64_t row = 0; row < kTileRows; ++row) {
      __builtin_memcpy(static_cast<char*>(p) + row * stride, &memory_[kTile][row], kTileBytes);
    }
  }
  template <int kC, int kA, int kB>
  void Dot() {
    for (int64_t i = 0; i < kTileRows; ++i) {
      Vec sum = BitCast<Vec>(memory_[kC][i]);
      for (int64_t r = 0; r < kTileRows; ++r) {
        const uint32_t a = memory_[kA][i][r];
        const VecUint b = memory_[kB][r];
        sum += BitCast<float>(a << 16) * BitCast<Vec>(b << 16);
        sum += BitCast<float>(a & 0xffff0000u) * BitCast<Vec>(b & 0xffff0000u);
      }
      memory_[kC][i] = BitCast<VecUint>(sum);
    }
  }

 private:
  static_assert(sizeof(Vec) == kTileBytes);
  VecUint memory_[8][16];
};

#endif

// 16 x 16 words of 32 bits, transposed: four rounds that interleave row i with row i + 8.
HAGANE_INLINE void TransposeWords(VecUint rows[16]) {
  for (int round = 0; round < 4; ++round) {
    VecUint next[16];
    for (int i = 0; i < 8; ++i) Zip(rows[i], rows[i + 8], &next[2 * i], &next[2 * i + 1]);
    for (int i = 0; i < 16; ++i) rows[i] = next[i];
  }
}

// 16 rows of up to 32 values (a row's words), rows `ld` values apart; missing rows and values are
// 0.
HAGANE_INLINE void LoadWordRows(const uint16_t* x, int64_t ld, int64_t rows, int64_t values,
                                VecUint out[16]) {
  for (int64_t i = 0; i < 16; ++i) {
    out[i] = VecUint{};
    if (i >= rows) continue;
    const int64_t bytes = 2 * (values < kTileDepth ? values : kTileDepth);
    if (bytes == kTileBytes) {
      __builtin_memcpy(&out[i], x + i * ld, kTileBytes);
    } else {
      __builtin_memcpy(&out[i], x + i * ld, static_cast<size_t>(bytes));
    }
  }
}

// Up to 32 rows of up to 16 values as 16 pairs of rows: out[r][j] = x[2 r][j] | x[2 r + 1][j]
// << 16.
HAGANE_INLINE void LoadRowPairs(const uint16_t* x, int64_t ld, int64_t rows, int64_t values,
                                VecUint out[16]) {
  const auto row = [&](int64_t i) -> VecUint {
    if (i >= rows) return VecUint{};
    const Vec wide = values >= 16 ? LoadBf16(x + i * ld) : LoadFirstBf16(x + i * ld, values);
    return BitCast<VecUint>(wide);  // in the upper halves
  };
  for (int64_t r = 0; r < 16; ++r) out[r] = (row(2 * r) >> 16) | row(2 * r + 1);
}

HAGANE_INLINE void StoreTile(const VecUint rows[16], uint16_t* tile) {
  __builtin_memcpy(tile, rows, kTileSize * sizeof(uint16_t));
}

}  // namespace
}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
