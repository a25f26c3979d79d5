// Sums of embedding rows and their gradient.
//   forward:  out[t] = words[ids[t]] + positions[pos[t]] + segments[seg[t]]   (last table may be
//   null) backward: each table's gradient row += dout[t]; the pad rows get none
// The order of additions is by token, so bits do not depend on threads. Ids must be in range.
#pragma once

#include <cstdint>

#include "base/run_context.h"

namespace hagane::kernels {

struct EmbeddingArgs {
  int64_t tokens = 0, width = 0;
  const int32_t* ids = nullptr;
  const int32_t* positions = nullptr;
  const int32_t* segments = nullptr;  // null when segment_table is
};

void EmbeddingForward(const RunContext& ctx, const EmbeddingArgs& args, const float* word_table,
                      const float* position_table, const float* segment_table, float* out);

// `word_pad` / `position_pad`: the row that gets no gradient (nn.Embedding's padding_idx), or -1.
void EmbeddingBackward(const RunContext& ctx, const EmbeddingArgs& args, const float* dout,
                       int64_t word_pad, int64_t position_pad, float* dword_table,
                       float* dposition_table, float* dsegment_table);

}  // namespace hagane::kernels
