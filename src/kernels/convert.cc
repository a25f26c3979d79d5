#include "kernels/convert.h"

#include "base/profile.h"
#include "kernels/convert_loops.h"
#include "kernels/level.h"
#include "kernels/row_chunks.h"

namespace hagane::kernels {

namespace {

constexpr int64_t kPiece = 1 << 14;

}  // namespace

const ConvertLoops& ConvertLoopsFor(Isa isa) {
  return LoopsOf(isa, baseline::kConvertLoops, avx2::kConvertLoops, avx512::kConvertLoops);
}

void ToBf16(const RunContext& ctx, int64_t size, const float* x, bf16* y) {
  const ProfileScope profile(ctx, "convert", 0, 6.0 * static_cast<double>(size));
  const ConvertLoops& loops = ConvertLoopsFor(ctx.isa);
  ForChunks(ctx, size, kPiece, [&](int64_t, int64_t begin, int64_t end) {
    loops.to_bf16(end - begin, x + begin, &y[begin].bits);
  });
}

void ToFloat32(const RunContext& ctx, int64_t size, const bf16* x, float* y) {
  const ProfileScope profile(ctx, "convert", 0, 6.0 * static_cast<double>(size));
  const ConvertLoops& loops = ConvertLoopsFor(ctx.isa);
  ForChunks(ctx, size, kPiece, [&](int64_t, int64_t begin, int64_t end) {
    loops.to_float32(end - begin, &x[begin].bits, y + begin);
  });
}

void Fill(const RunContext& ctx, int64_t size, float value, float* y) {
  const ProfileScope profile(ctx, "fill", 0, 4.0 * static_cast<double>(size));
  const ConvertLoops& loops = ConvertLoopsFor(ctx.isa);
  ForChunks(ctx, size, kPiece, [&](int64_t, int64_t begin, int64_t end) {
    loops.fill(end - begin, value, y + begin);
  });
}

void Add(const RunContext& ctx, int64_t size, const float* x, float* y) {
  const ProfileScope profile(ctx, "add", 0, 12.0 * static_cast<double>(size));
  const ConvertLoops& loops = ConvertLoopsFor(ctx.isa);
  ForChunks(ctx, size, kPiece, [&](int64_t, int64_t begin, int64_t end) {
    loops.add(end - begin, x + begin, y + begin);
  });
}

}  // namespace hagane::kernels
