// Element-wise conversion between float32 and bf16 (round to nearest, ties to even), copies and
// fills on all threads.
#pragma once

#include <cstdint>

#include "base/bf16.h"
#include "base/run_context.h"

namespace hagane::kernels {

void ToBf16(const RunContext& ctx, int64_t size, const float* x, bf16* y);
void ToFloat32(const RunContext& ctx, int64_t size, const bf16* x, float* y);
void Fill(const RunContext& ctx, int64_t size, float value, float* y);
// y += x
void Add(const RunContext& ctx, int64_t size, const float* x, float* y);

}  // namespace hagane::kernels
