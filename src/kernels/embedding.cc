#include "kernels/embedding.h"

#include <algorithm>
#include <cstring>

#include "base/profile.h"
#include "kernels/convert_loops.h"
#include "kernels/row_chunks.h"

namespace hagane::kernels {

namespace {

// A backward thread owns these columns of all tables: no two threads write the same element, and
// each element's additions come in token order.
constexpr int64_t kColumns = 64;

}  // namespace

void EmbeddingForward(const RunContext& ctx, const EmbeddingArgs& args, const float* word_table,
                      const float* position_table, const float* segment_table, float* out) {
  const ProfileScope profile(ctx, "embedding forward", 0,
                             16.0 * static_cast<double>(args.tokens * args.width));
  const ConvertLoops& loops = ConvertLoopsFor(ctx.isa);
  const int64_t width = args.width;
  ForRowChunks(ctx, args.tokens, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float* const row = out + t * width;
      std::memcpy(row, word_table + args.ids[t] * width,
                  static_cast<size_t>(width) * sizeof(float));
      if (segment_table != nullptr) {
        loops.add(width, segment_table + args.segments[t] * width, row);
      }
      loops.add(width, position_table + args.positions[t] * width, row);
    }
  });
}

void EmbeddingBackward(const RunContext& ctx, const EmbeddingArgs& args, const float* dout,
                       int64_t word_pad, int64_t position_pad, float* dword_table,
                       float* dposition_table, float* dsegment_table) {
  const ProfileScope profile(ctx, "embedding backward", 0,
                             20.0 * static_cast<double>(args.tokens * args.width));
  const ConvertLoops& loops = ConvertLoopsFor(ctx.isa);
  const int64_t width = args.width;
  const int64_t blocks = (width + kColumns - 1) / kColumns;
#pragma omp parallel for num_threads(ctx.threads) schedule(static) if (blocks > 1)
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = block * kColumns;
    const int64_t columns = std::min(kColumns, width - first);
    for (int64_t t = 0; t < args.tokens; ++t) {
      const float* const row = dout + t * width + first;
      if (args.ids[t] != word_pad) {
        loops.add(columns, row, dword_table + args.ids[t] * width + first);
      }
      if (args.positions[t] != position_pad) {
        loops.add(columns, row, dposition_table + args.positions[t] * width + first);
      }
      if (dsegment_table != nullptr) {
        loops.add(columns, row, dsegment_table + args.segments[t] * width + first);
      }
    }
  }
}

}  // namespace hagane::kernels
