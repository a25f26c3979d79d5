// Gemm of bf16 operands on tiles (AMX, or the same operations emulated). Both operands are cut into
// tiles first: B once for all threads, A block by block. Each element of C is one sum over k in one
// order, whatever the blocks and threads.
#pragma once

#include "kernels/gemm.h"
#include "kernels/gemm_tiles_loops.h"

namespace hagane::kernels {

// The instructions of this CPU can do it.
inline bool HasTiles(const RunContext& ctx) { return ctx.isa == Isa::kAvx512 && ctx.cpu.amx_bf16; }

// What gemm_activation.h puts in place of storing C; matrices as C, rows ldc apart.
struct TileEpilogue {
  Activation activation = {};
  bf16* slope_out = nullptr;
  const bf16* slope_in = nullptr;
  float* column_sums = nullptr;  // [n] += ; with slope_in
};

// `args` as Gemm's, with bf16 operands and m, n, k > 0.
void TileGemm(const RunContext& ctx, const TileGemmLoops& loops, const GemmArgs& args,
              const TileEpilogue& epilogue = {});

}  // namespace hagane::kernels
