// One block of a product on the calling thread, by oneDNN's matmul. The only door to oneDNN.
#pragma once

#include "kernels/gemm.h"

namespace hagane::kernels {

// Makes oneDNN keep to ctx.isa when that is below what the CPU can do. oneDNN takes such a limit
// once per process, before its first use: the first context of a process decides.
void LimitOneDnnIsa(const RunContext& ctx);

// Computes args; m, n, k > 0. Call it inside a parallel region whose OpenMP thread count for nested
// regions is 1. Primitives are kept per thread, by shape.
void OneDnnGemm(const GemmArgs& args);

}  // namespace hagane::kernels
