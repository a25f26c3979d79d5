// What this machine can do at best, measured: the denominators of every "% of peak".
#pragma once

#include "base/run_context.h"

namespace hagane::kernels {

struct MachinePeak {
  double fp32_fma_gflops = 0;       // all threads of ctx, the widest vectors of ctx.isa
  double fp32_fma_gflops_core = 0;  // one thread
  double bf16_tile_gflops = 0;      // AMX, all threads; 0 where there is none
  double int8_tile_gops = 0;        // AMX, all threads; 0 where there is none
  double memory_gb_s = 0;           // triad bandwidth, all threads, arrays far above the caches
};

// Takes about `seconds` in all. `memory` false leaves memory_gb_s 0 (the quick form, ~0.1 s, that a
// training run uses for its first lines).
MachinePeak MeasurePeak(const RunContext& ctx, double seconds, bool memory);

}  // namespace hagane::kernels
