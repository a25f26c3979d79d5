#include "kernels/dropout.h"

#include "base/error.h"
#include "base/profile.h"
#include "kernels/dropout_mask.h"
#include "kernels/level.h"
#include "kernels/optional_pointer.h"
#include "kernels/row_chunks.h"

namespace hagane::kernels {

const DropoutLoops& DropoutLoopsFor(Isa isa) {
  return LoopsOf(isa, baseline::kDropoutLoops, avx2::kDropoutLoops, avx512::kDropoutLoops);
}

void Dropout(const RunContext& ctx, const DropoutSpec& spec, RowKeys keys, int64_t rows,
             int64_t width, const float* x, float* y, bf16* y_bf16) {
  HAGANE_CHECK(width % 4 == 0, "dropout width");
  const ProfileScope profile(ctx, "dropout", 0, 8.0 * static_cast<double>(rows * width));
  const DropoutLoops& loops = DropoutLoopsFor(ctx.isa);
  ForRowChunks(ctx, rows, [&](int64_t, int64_t begin, int64_t end) {
    MaskBuffer mask(spec, width);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * width;
      loops.apply(width, x + at, mask.Row(loops, keys, row), y + at, Bits(y_bf16, at));
    }
  });
}

}  // namespace hagane::kernels
