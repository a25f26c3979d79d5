// Matrix products for Linear layers: bf16 operands on AMX tiles where the CPU has them
// (gemm_tiles.h), all else by oneDNN's matmul, behind one function.
//
//   C[m, n] = A[m, k] * B[k, n]  (+ C when accumulate)  (+ bias[n] in every row when given)
//
// A and B are row-major in memory, or read transposed. Operand types: both float32, or both bf16
// (sums are always float32). C is float32 or, with `c_bf16`, rounded once to bf16 at the end.
// Without tiles bf16 operands are widened block by block and multiplied in float32: the same result
// to summation order.
//
// Bits do not depend on the thread count: the product is cut into blocks whose shapes depend on m,
// n and k alone, one thread calls oneDNN for each, and k is never split over threads. C must not
// overlap A or B. m, n, k may be 0 (k == 0: C is set to 0 + bias, or kept).
#pragma once

#include <cstdint>

#include "base/bf16.h"
#include "base/run_context.h"

namespace hagane::kernels {

// A matrix operand: `rows` x `cols` as the product sees it. Stored row-major with `ld` elements
// from one row to the next; transposed: stored as cols x rows. Exactly one of f32 and b16 is set.
struct MatrixIn {
  const float* f32 = nullptr;
  const bf16* b16 = nullptr;
  int64_t ld = 0;
  bool transposed = false;
};

inline MatrixIn Plain(const float* data, int64_t ld) { return {data, nullptr, ld, false}; }
inline MatrixIn Plain(const bf16* data, int64_t ld) { return {nullptr, data, ld, false}; }
inline MatrixIn Transposed(const float* data, int64_t ld) { return {data, nullptr, ld, true}; }
inline MatrixIn Transposed(const bf16* data, int64_t ld) { return {nullptr, data, ld, true}; }

struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  MatrixIn a;              // [m, k]
  MatrixIn b;              // [k, n]
  float* c = nullptr;      // [m, n], ldc elements between rows; or
  bf16* c_bf16 = nullptr;  // the same in bf16 (then accumulate must be false)
  int64_t ldc = 0;
  const float* bias = nullptr;  // [n] or null
  bool accumulate = false;      // C += instead of C =
};

void Gemm(const RunContext& ctx, const GemmArgs& args);

// One word on how products are computed here, for the first lines: "onednn avx2 fp32",
// "amx bf16", "bf16 storage, fp32 fma" ...
const char* GemmDescription(const RunContext& ctx, bool bf16_operands);

// The plain triple loop with double sums, for tests.
void GemmReference(const GemmArgs& args);

}  // namespace hagane::kernels
