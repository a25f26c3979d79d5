// A head in a thread's caches: K, V (and for backward Q) packed as float32, queries in blocks.
#pragma once

#include "kernels/attention_loops.h"
#include "kernels/simd_math.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

constexpr int64_t kQueryBlock =
    48;                           // rows of S in hand: a multiple of kTileRows, 100 KB at 512 keys
constexpr int64_t kTileRows = 6;  // 6 x 2 accumulators and 3 operands fill 16 vector registers
constexpr int64_t kTileColumns = 2 * kLanes;

HAGANE_INLINE int64_t RoundUp(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

// rows x 2 vectors of C (+)= A B: A(i, k) = a[i * a_row + k * a_column].
template <int kRows>
HAGANE_INLINE void Tile(int64_t depth, const float* a, int64_t a_row, int64_t a_column,
                        const float* b, int64_t ldb, float* c, int64_t ldc, bool accumulate) {
  Vec sum[kRows][2];
  for (int i = 0; i < kRows; ++i) {
    sum[i][0] = accumulate ? Load(c + i * ldc) : Vec{};
    sum[i][1] = accumulate ? Load(c + i * ldc + kLanes) : Vec{};
  }
  for (int64_t k = 0; k < depth; ++k) {
    const Vec b0 = Load(b + k * ldb);
    const Vec b1 = Load(b + k * ldb + kLanes);
    for (int i = 0; i < kRows; ++i) {
      const Vec ai = Set(a[i * a_row + k * a_column]);
      sum[i][0] += ai * b0;
      sum[i][1] += ai * b1;
    }
  }
  for (int i = 0; i < kRows; ++i) {
    Store(sum[i][0], c + i * ldc);
    Store(sum[i][1], c + i * ldc + kLanes);
  }
}

// C[rows, columns] (+)= A[rows, depth] B[depth, columns]; columns is a multiple of kTileColumns, B
// and C have that many.
void Product(int64_t rows, int64_t columns, int64_t depth, const float* a, int64_t a_row,
             int64_t a_column, const float* b, int64_t ldb, float* c, int64_t ldc,
             bool accumulate) {
  for (int64_t j = 0; j < columns; j += kTileColumns) {
    int64_t i = 0;
    for (; i + kTileRows <= rows; i += kTileRows) {
      Tile<kTileRows>(depth, a + i * a_row, a_row, a_column, b + j, ldb, c + i * ldc + j, ldc,
                      accumulate);
    }
    for (; i < rows; ++i) {
      Tile<1>(depth, a + i * a_row, a_row, a_column, b + j, ldb, c + i * ldc + j, ldc, accumulate);
    }
  }
}

// A matrix [length, head_size] as float32 rows of `ld_out`, zero filled to the right.
void PackRows(const HeadInput& in, const float* x, const uint16_t* x_bf16, int64_t ld_out,
              float* out) {
  for (int64_t t = 0; t < in.length; ++t) {
    float* const row = out + t * ld_out;
    HAGANE_FOR_ROW(i, n, in.head_size) {
      const Vec value =
          x != nullptr ? LoadN(x + t * in.ld + i, n) : LoadBf16N(x_bf16 + t * in.ld + i, n);
      StoreN(value, row + i, n);
    }
    for (int64_t i = in.head_size; i < ld_out; ++i) row[i] = 0.0f;
  }
}

// Rows [length, columns] of `x` -> [columns, ld_out], zero filled to the right.
void Transpose(int64_t length, int64_t columns, const float* x, int64_t ldx, int64_t ld_out,
               float* out) {
  for (int64_t c = 0; c < columns; ++c) {
    float* const row = out + c * ld_out;
    for (int64_t t = 0; t < length; ++t) row[t] = x[t * ldx + c];
    for (int64_t t = length; t < ld_out; ++t) row[t] = 0.0f;
  }
}

// Where the pieces lie in the scratch, in floats; all multiples of 16.
struct Layout {
  int64_t keys;   // columns of S: length rounded up
  int64_t width;  // columns of Q, K, V: head_size rounded up
  int64_t matrix, transposed, block;

  Layout(int64_t length, int64_t head_size)
      : keys(RoundUp(length, kTileColumns)),
        width(RoundUp(head_size, kTileColumns)),
        matrix(RoundUp(length, 16) * width),
        transposed(RoundUp(head_size, 16) * keys),
        block(kQueryBlock * keys + kMaskSlack) {}
};

int64_t ForwardScratch(int64_t length, int64_t head_size) {
  const Layout at(length, head_size);
  return 2 * at.matrix + at.transposed + at.block + RoundUp(at.keys, 16) + kMaskSlack +
         kQueryBlock * at.width;
}

int64_t BackwardScratch(int64_t length, int64_t head_size) {
  const Layout at(length, head_size);
  return 5 * at.matrix + 2 * at.transposed + 2 * at.block + RoundUp(at.keys, 16) + kMaskSlack +
         2 * kQueryBlock * at.width;
}

// The dropout multipliers of one query's probabilities, starting at the returned pointer.
HAGANE_INLINE const float* MaskOf(const HeadInput& in, int64_t query, float* buffer) {
  const uint64_t first = in.first_element + static_cast<uint64_t>(query * in.length);
  const uint64_t aligned = first & ~uint64_t{3};
  const auto shift = static_cast<int64_t>(first - aligned);
  in.mask_row(*in.mask_key, aligned, in.length + shift, buffer);
  return buffer + shift;
}

void StoreRow(int64_t width, const float* x, float factor, float* out, uint16_t* out_bf16) {
  HAGANE_FOR_ROW(i, n, width) {
    const Vec value = LoadN(x + i, n) * factor;
    if (out != nullptr) {
      StoreN(value, out + i, n);
    } else {
      StoreBf16N(value, out_bf16 + i, n);
    }
  }
}

template <class T>
HAGANE_INLINE T* Offset(T* p, int64_t n) {
  return p == nullptr ? nullptr : p + n;
}

void HeadForwardOne(const HeadForward& head) {
  const HeadInput& in = head.in;
  const bool bf16_operands = in.q == nullptr;
  const Layout at(in.length, in.head_size);
  float* const k_rows = head.scratch;
  float* const v_rows = k_rows + at.matrix;
  float* const k_columns = v_rows + at.matrix;
  float* const block = k_columns + at.transposed;
  float* const mask = block + at.block;
  float* const out_rows = mask + RoundUp(at.keys, 16) + kMaskSlack;

  PackRows(in, in.k, in.k_bf16, at.width, k_rows);
  Transpose(in.length, in.head_size, k_rows, at.width, at.keys, k_columns);
  PackRows(in, in.v, in.v_bf16, at.width, v_rows);
  PackRows(in, in.q, in.q_bf16, at.width, k_rows);  // K's rows are no longer needed
  const float* const q_rows = k_rows;

  for (int64_t begin = 0; begin < in.length; begin += kQueryBlock) {
    const int64_t rows = in.length - begin < kQueryBlock ? in.length - begin : kQueryBlock;
    Product(rows, at.keys, in.head_size, q_rows + begin * at.width, at.width, 1, k_columns, at.keys,
            block, at.keys, false);
    for (int64_t r = 0; r < rows; ++r) {
      float* const s = block + r * at.keys;
      Vec largest = Set(-__builtin_inff());
      HAGANE_FOR_ROW(i, n, in.length) {
        Vec value = LoadN(s + i, n) * in.scale;
        StoreN(value, s + i, n);
        if (n < kLanes) value = FirstLanes(n) ? value : Set(-__builtin_inff());
        largest = Max(largest, value);
      }
      const float top = MaxLanes(largest);
      Vec sum = {};
      HAGANE_FOR_ROW(i, n, in.length) {
        Vec e = Exp(LoadN(s + i, n) - top);
        if (n < kLanes) e = FirstLanes(n) ? e : Vec{};
        StoreN(e, s + i, n);
        sum += e;
      }
      const float total = SumLanes(sum);
      const float inverse = 1.0f / total;
      if (head.log_sum_exp != nullptr) head.log_sum_exp[begin + r] = top + __builtin_logf(total);
      const float* const keep = in.mask_key == nullptr ? nullptr : MaskOf(in, begin + r, mask);
      HAGANE_FOR_ROW(i, n, in.length) {
        Vec p = LoadN(s + i, n) * inverse;
        if (keep != nullptr) p *= LoadN(keep + i, n);
        if (bf16_operands) p = RoundToBf16(p);
        StoreN(p, s + i, n);
      }
    }
    Product(rows, at.width, in.length, block, at.keys, 1, v_rows, at.width, out_rows, at.width,
            false);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t to = (begin + r) * head.out_ld;
      StoreRow(in.head_size, out_rows + r * at.width, 1.0f, Offset(head.out, to),
               Offset(head.out_bf16, to));
    }
  }
}

void HeadBackwardOne(const HeadBackward& head) {
  const HeadInput& in = head.in;
  const bool bf16_operands = in.q == nullptr;
  const Layout at(in.length, in.head_size);
  float* const q_rows = head.scratch;
  float* const k_rows = q_rows + at.matrix;
  float* const work = k_rows + at.matrix;  // V's rows, then dO's
  float* const dk_rows = work + at.matrix;
  float* const dv_rows = dk_rows + at.matrix;
  float* const k_columns = dv_rows + at.matrix;
  float* const v_columns = k_columns + at.transposed;
  float* const p_block = v_columns + at.transposed;
  float* const ds_block = p_block + at.block;
  float* const mask = ds_block + at.block;
  float* const dq_rows = mask + RoundUp(at.keys, 16) + kMaskSlack;

  PackRows(in, in.q, in.q_bf16, at.width, q_rows);
  PackRows(in, in.k, in.k_bf16, at.width, k_rows);
  Transpose(in.length, in.head_size, k_rows, at.width, at.keys, k_columns);
  PackRows(in, in.v, in.v_bf16, at.width, work);
  Transpose(in.length, in.head_size, work, at.width, at.keys, v_columns);
  float* const do_rows = work;
  for (int64_t t = 0; t < in.length; ++t) {
    float* const row = do_rows + t * at.width;
    HAGANE_FOR_ROW(i, n, in.head_size) {
      const Vec value = LoadN(head.dout + t * head.dout_ld + i, n);
      StoreN(bf16_operands ? RoundToBf16(value) : value, row + i, n);
    }
    for (int64_t i = in.head_size; i < at.width; ++i) row[i] = 0.0f;
  }

  for (int64_t begin = 0; begin < in.length; begin += kQueryBlock) {
    const int64_t rows = in.length - begin < kQueryBlock ? in.length - begin : kQueryBlock;
    // S and dP' = dO Vᵀ for these queries.
    Product(rows, at.keys, in.head_size, q_rows + begin * at.width, at.width, 1, k_columns, at.keys,
            p_block, at.keys, false);
    Product(rows, at.keys, in.head_size, do_rows + begin * at.width, at.width, 1, v_columns,
            at.keys, ds_block, at.keys, false);
    for (int64_t r = 0; r < rows; ++r) {
      float* const p = p_block + r * at.keys;
      float* const ds = ds_block + r * at.keys;
      const float log_sum_exp = head.log_sum_exp[begin + r];
      const float* const keep = in.mask_key == nullptr ? nullptr : MaskOf(in, begin + r, mask);
      Vec sum = {};
      HAGANE_FOR_ROW(i, n, in.length) {
        Vec probability = Exp(LoadN(p + i, n) * in.scale - log_sum_exp);
        if (n < kLanes) probability = FirstLanes(n) ? probability : Vec{};
        Vec dp = LoadN(ds + i, n);
        if (keep != nullptr) dp *= LoadN(keep + i, n);
        StoreN(probability, p + i, n);
        StoreN(dp, ds + i, n);
        sum += probability * dp;
      }
      const float row_dot = SumLanes(sum);
      HAGANE_FOR_ROW(i, n, in.length) {
        const Vec probability = LoadN(p + i, n);
        Vec d = probability * (LoadN(ds + i, n) - row_dot);
        Vec dropped = keep != nullptr ? probability * LoadN(keep + i, n) : probability;
        if (bf16_operands) {
          d = RoundToBf16(d);
          dropped = RoundToBf16(dropped);
        }
        StoreN(d, ds + i, n);
        StoreN(dropped, p + i, n);
      }
    }
    Product(rows, at.width, in.length, ds_block, at.keys, 1, k_rows, at.width, dq_rows, at.width,
            false);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t to = (begin + r) * in.ld;
      StoreRow(in.head_size, dq_rows + r * at.width, in.scale, Offset(head.dq, to),
               Offset(head.dq_bf16, to));
    }
    // dK += dSᵀ Q and dV += P'ᵀ dO over these queries.
    Product(in.length, at.width, rows, ds_block, 1, at.keys, q_rows + begin * at.width, at.width,
            dk_rows, at.width, begin > 0);
    Product(in.length, at.width, rows, p_block, 1, at.keys, do_rows + begin * at.width, at.width,
            dv_rows, at.width, begin > 0);
  }
  for (int64_t t = 0; t < in.length; ++t) {
    const int64_t to = t * in.ld;
    StoreRow(in.head_size, dk_rows + t * at.width, in.scale, Offset(head.dk, to),
             Offset(head.dk_bf16, to));
    StoreRow(in.head_size, dv_rows + t * at.width, 1.0f, Offset(head.dv, to),
             Offset(head.dv_bf16, to));
  }
}

}  // namespace

const AttentionLoops kAttentionLoops = {ForwardScratch, BackwardScratch, HeadForwardOne,
                                        HeadBackwardOne};

}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
