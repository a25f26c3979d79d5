// A head's products on tiles. P', dS and their transposes go straight into the order of tiles; a
// sequence's whole P' and dS stay in the thread's second cache (1 MiB at 512 tokens).
#pragma once

#include "kernels/attention_loops.h"
#include "kernels/simd_math.h"
#include "kernels/tile_product.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

constexpr int64_t kBlockTiles = 2 * kTileSize;  // values of two tiles: a block's rows, 32 of k

// Sizes of a head in blocks of 32: of its tokens and of its columns.
struct HeadBlocks {
  int64_t tokens, columns;
  explicit HeadBlocks(int64_t length, int64_t head_size)
      : tokens((length + kBlock - 1) / kBlock), columns((head_size + kBlock - 1) / kBlock) {}
  int64_t keys() const { return tokens * kBlock; }
  int64_t operand() const { return tokens * columns * kBlockTiles; }  // Q, K, V, dO packed
  int64_t square() const { return tokens * tokens * kBlockTiles; }    // P', dS packed
  int64_t scores() const { return kBlock * keys(); }                  // of one block of queries
  int64_t mask() const { return kBlock * keys() + kMaskSlack; }
};

// Takes pieces of the scratch one after the other, each on a cache line.
class Pieces {
 public:
  explicit Pieces(float* scratch) : next_(scratch) {}
  float* Floats(int64_t count) {
    float* const piece = next_;
    next_ += (count + 15) / 16 * 16;
    return piece;
  }
  uint16_t* Halves(int64_t count) { return reinterpret_cast<uint16_t*>(Floats((count + 1) / 2)); }

 private:
  float* next_;
};

int64_t ForwardScratch(int64_t length, int64_t head_size) {
  const HeadBlocks size(length, head_size);
  return (3 * size.operand() + size.tokens * kBlockTiles) / 2 + size.scores() + size.mask() +
         kBlock * kBlock + 128;
}

int64_t BackwardScratch(int64_t length, int64_t head_size) {
  const HeadBlocks size(length, head_size);
  return (8 * size.operand() + 2 * size.square() + size.tokens * kBlockTiles) / 2 +
         2 * size.scores() + size.mask() + kBlock * kBlock + 256;
}

// The dropout multipliers of the block's queries, `length` for each; null without dropout.
HAGANE_INLINE const float* MaskOfBlock(const HeadInput& in, int64_t query, int64_t queries,
                                       float* buffer) {
  if (in.mask_key == nullptr) return nullptr;
  const uint64_t first = in.first_element + static_cast<uint64_t>(query * in.length);
  const uint64_t aligned = first & ~uint64_t{3};
  const auto shift = static_cast<int64_t>(first - aligned);
  in.mask_row(*in.mask_key, aligned, queries * in.length + shift, buffer);
  return buffer + shift;
}

// Where the values of columns i, i + 1 ... of row r of a block lie when it is packed as A; for i a
// multiple of 16.
HAGANE_INLINE uint16_t* PackedAt(uint16_t* block, int64_t r, int64_t i) {
  return block + i / kTileDepth * kBlockTiles + r * kTileDepth + i % kTileDepth;
}

// A block of sums [rows, columns up to head_size] times `factor`, to rows `ld` apart.
HAGANE_INLINE void StoreBlock(const float* sums, int64_t rows, int64_t column, int64_t head_size,
                              float factor, float* out, uint16_t* out_bf16, int64_t ld) {
  const int64_t width = head_size - column < kBlock ? head_size - column : kBlock;
  for (int64_t r = 0; r < rows; ++r) {
    HAGANE_FOR_ROW(i, n, width) {
      const Vec value = Load(sums + r * kBlock + i) * factor;
      const int64_t at = r * ld + column + i;
      if (out != nullptr) {
        StoreN(value, out + at, n);
      } else {
        StoreBf16N(value, out_bf16 + at, n);
      }
    }
  }
}

// One row of softmax from scores s[0, keys), P' to the packed row. Scores past the length are 0.
HAGANE_INLINE void SoftmaxRow(const HeadInput& in, int64_t keys, float* s, const float* keep,
                              float* log_sum_exp, uint16_t* block, int64_t r) {
  const Vec lowest = Set(-__builtin_inff());
  Vec largest = lowest;
  HAGANE_FOR_ROW(i, n, in.length) {
    const Vec value = Load(s + i);
    largest = Max(largest, n == kLanes ? value : (FirstLanes(n) ? value : lowest));
  }
  const float top = MaxLanes(largest) * in.scale;
  Vec sum = {};
  HAGANE_FOR_ROW(i, n, in.length) {
    Vec e = Exp(Load(s + i) * in.scale - top);
    if (n < kLanes) e = FirstLanes(n) ? e : Vec{};
    Store(e, s + i);
    sum += e;
  }
  const float total = SumLanes(sum);
  const float inverse = 1.0f / total;
  if (log_sum_exp != nullptr) *log_sum_exp = top + __builtin_logf(total);
  int64_t i = 0;
  for (; i < in.length; i += kLanes) {
    const int64_t n = in.length - i < kLanes ? in.length - i : kLanes;
    Vec p = Load(s + i) * inverse;
    if (keep != nullptr) p *= LoadN(keep + i, n);
    StoreBf16(p, PackedAt(block, r, i));
  }
  for (; i < keys; i += kLanes) StoreBf16(Vec{}, PackedAt(block, r, i));
}

void HeadForwardTiles(const HeadForward& head) {
  const HeadInput& in = head.in;
  const HeadBlocks size(in.length, in.head_size);
  Pieces pieces(head.scratch);
  uint16_t* const q = pieces.Halves(size.operand());
  uint16_t* const k = pieces.Halves(size.operand());
  uint16_t* const v = pieces.Halves(size.operand());
  uint16_t* const p = pieces.Halves(size.tokens * kBlockTiles);
  float* const scores = pieces.Floats(size.scores());
  float* const mask = pieces.Floats(size.mask());
  float* const sums = pieces.Floats(kBlock * kBlock);
  Pack<false>({in.q_bf16, in.ld, false, in.length, in.head_size}, q);
  Pack<true>({in.k_bf16, in.ld, false, in.length, in.head_size}, k);
  Pack<true>({in.v_bf16, in.ld, true, in.head_size, in.length}, v);

  Tiles tiles;
  const int64_t operand_panel = size.columns * kBlockTiles, key_panel = size.tokens * kBlockTiles;
  for (int64_t block = 0; block < size.tokens; ++block) {
    const int64_t begin = block * kBlock;
    const int64_t rows = in.length - begin < kBlock ? in.length - begin : kBlock;
    for (int64_t j = 0; j < size.tokens; ++j) {
      MultiplyTiles(tiles, size.columns, q + block * operand_panel, k + j * operand_panel,
                    scores + j * kBlock, size.keys());
    }
    const float* const keep = MaskOfBlock(in, begin, rows, mask);
    for (int64_t r = 0; r < rows; ++r) {
      SoftmaxRow(in, size.keys(), scores + r * size.keys(),
                 keep == nullptr ? nullptr : keep + r * in.length,
                 head.log_sum_exp == nullptr ? nullptr : head.log_sum_exp + begin + r, p, r);
    }
    for (int64_t c = 0; c < size.columns; ++c) {
      MultiplyTiles(tiles, size.tokens, p, v + c * key_panel, sums, kBlock);
      const int64_t to = begin * head.out_ld;
      StoreBlock(sums, rows, c * kBlock, in.head_size, 1.0f,
                 head.out == nullptr ? nullptr : head.out + to,
                 head.out_bf16 == nullptr ? nullptr : head.out_bf16 + to, head.out_ld);
    }
  }
}

// One row of dS and P' from scores s and dP' = ds, to the packed rows; s and ds are overwritten.
HAGANE_INLINE void SlopeRow(const HeadInput& in, int64_t keys, float* s, float* ds,
                            const float* keep, float log_sum_exp, uint16_t* p_block,
                            uint16_t* ds_block, int64_t r) {
  Vec sum = {};
  HAGANE_FOR_ROW(i, n, in.length) {
    Vec p = Exp(Load(s + i) * in.scale - log_sum_exp);
    if (n < kLanes) p = FirstLanes(n) ? p : Vec{};
    Vec dp = Load(ds + i);
    Vec dropped = p;
    if (keep != nullptr) {
      const Vec factor = LoadN(keep + i, n);
      dp *= factor;
      dropped *= factor;
    }
    StoreBf16(dropped, PackedAt(p_block, r, i));
    Store(p, s + i);
    Store(dp, ds + i);
    sum += p * dp;
  }
  const float dot = SumLanes(sum);
  int64_t i = 0;
  for (; i < in.length; i += kLanes) {
    StoreBf16(Load(s + i) * (Load(ds + i) - dot), PackedAt(ds_block, r, i));
  }
  for (; i < keys; i += kLanes) {
    StoreBf16(Vec{}, PackedAt(p_block, r, i));
    StoreBf16(Vec{}, PackedAt(ds_block, r, i));
  }
}

// The columns of block `column` of a packed square, as rows of A: its depth are the packed rows.
HAGANE_INLINE void PackColumns(const HeadBlocks& size, const uint16_t* square, int64_t column,
                               uint16_t* panel) {
  for (int64_t block = 0; block < size.tokens; ++block) {
    const uint16_t* const from = square + (block * size.tokens + column) * kBlockTiles;
    for (int64_t half = 0; half < kBlock; half += kTileRows) {
      VecUint words[16];
      LoadRowPairs(from + half, kTileDepth, kBlock, kTileRows, words);
      TransposeWords(words);
      StoreTile(words, panel);
      panel += kTileSize;
    }
  }
}

void HeadBackwardTiles(const HeadBackward& head) {
  const HeadInput& in = head.in;
  const HeadBlocks size(in.length, in.head_size);
  Pieces pieces(head.scratch);
  uint16_t* const q = pieces.Halves(size.operand());          // rows of A, for S
  uint16_t* const dout = pieces.Halves(size.operand());       // rows of A, for dP'
  uint16_t* const k = pieces.Halves(size.operand());          // columns of B, for S
  uint16_t* const v = pieces.Halves(size.operand());          // columns of B, for dP'
  uint16_t* const k_rows = pieces.Halves(size.operand());     // rows of B, for dQ
  uint16_t* const q_rows = pieces.Halves(size.operand());     // rows of B, for dK
  uint16_t* const dout_rows = pieces.Halves(size.operand());  // rows of B, for dV
  uint16_t* const rounded = pieces.Halves(size.operand());    // dO in bf16, rows head_size apart
  uint16_t* const p = pieces.Halves(size.square());
  uint16_t* const ds = pieces.Halves(size.square());
  uint16_t* const panel = pieces.Halves(size.tokens * kBlockTiles);
  float* const scores = pieces.Floats(size.scores());
  float* const dscores = pieces.Floats(size.scores());
  float* const mask = pieces.Floats(size.mask());
  float* const sums = pieces.Floats(kBlock * kBlock);
  const int64_t width = in.head_size;
  for (int64_t t = 0; t < in.length; ++t) {
    HAGANE_FOR_ROW(i, n, width) {
      StoreBf16N(LoadN(head.dout + t * head.dout_ld + i, n), rounded + t * width + i, n);
    }
  }
  Pack<false>({in.q_bf16, in.ld, false, in.length, width}, q);
  Pack<false>({rounded, width, false, in.length, width}, dout);
  Pack<true>({in.k_bf16, in.ld, false, in.length, width}, k);
  Pack<true>({in.v_bf16, in.ld, false, in.length, width}, v);
  Pack<true>({in.k_bf16, in.ld, true, width, in.length}, k_rows);
  Pack<true>({in.q_bf16, in.ld, true, width, in.length}, q_rows);
  Pack<true>({rounded, width, true, width, in.length}, dout_rows);

  Tiles tiles;
  const int64_t operand_panel = size.columns * kBlockTiles, key_panel = size.tokens * kBlockTiles;
  for (int64_t block = 0; block < size.tokens; ++block) {
    const int64_t begin = block * kBlock;
    const int64_t rows = in.length - begin < kBlock ? in.length - begin : kBlock;
    uint16_t* const p_block = p + block * key_panel;
    uint16_t* const ds_block = ds + block * key_panel;
    for (int64_t j = 0; j < size.tokens; ++j) {
      MultiplyTiles(tiles, size.columns, q + block * operand_panel, k + j * operand_panel,
                    scores + j * kBlock, size.keys());
      MultiplyTiles(tiles, size.columns, dout + block * operand_panel, v + j * operand_panel,
                    dscores + j * kBlock, size.keys());
    }
    const float* const keep = MaskOfBlock(in, begin, rows, mask);
    for (int64_t r = 0; r < rows; ++r) {
      SlopeRow(in, size.keys(), scores + r * size.keys(), dscores + r * size.keys(),
               keep == nullptr ? nullptr : keep + r * in.length, head.log_sum_exp[begin + r],
               p_block, ds_block, r);
    }
    // The rows past the length are depth of dK and dV.
    for (int64_t r = rows; r < kBlock; ++r) {
      for (int64_t i = 0; i < size.keys(); i += kLanes) {
        StoreBf16(Vec{}, PackedAt(p_block, r, i));
        StoreBf16(Vec{}, PackedAt(ds_block, r, i));
      }
    }
    for (int64_t c = 0; c < size.columns; ++c) {
      MultiplyTiles(tiles, size.tokens, ds_block, k_rows + c * key_panel, sums, kBlock);
      const int64_t to = begin * in.ld;
      StoreBlock(sums, rows, c * kBlock, width, in.scale,
                 head.dq == nullptr ? nullptr : head.dq + to,
                 head.dq_bf16 == nullptr ? nullptr : head.dq_bf16 + to, in.ld);
    }
  }
  for (int64_t block = 0; block < size.tokens; ++block) {
    const int64_t begin = block * kBlock;
    const int64_t rows = in.length - begin < kBlock ? in.length - begin : kBlock;
    const int64_t to = begin * in.ld;
    PackColumns(size, ds, block, panel);
    for (int64_t c = 0; c < size.columns; ++c) {
      MultiplyTiles(tiles, size.tokens, panel, q_rows + c * key_panel, sums, kBlock);
      StoreBlock(sums, rows, c * kBlock, width, in.scale,
                 head.dk == nullptr ? nullptr : head.dk + to,
                 head.dk_bf16 == nullptr ? nullptr : head.dk_bf16 + to, in.ld);
    }
    PackColumns(size, p, block, panel);
    for (int64_t c = 0; c < size.columns; ++c) {
      MultiplyTiles(tiles, size.tokens, panel, dout_rows + c * key_panel, sums, kBlock);
      StoreBlock(sums, rows, c * kBlock, width, 1.0f, head.dv == nullptr ? nullptr : head.dv + to,
                 head.dv_bf16 == nullptr ? nullptr : head.dv_bf16 + to, in.ld);
    }
  }
}

}  // namespace

const AttentionLoops kAttentionTileLoops = {ForwardScratch, BackwardScratch, HeadForwardTiles,
                                            HeadBackwardTiles};

}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
