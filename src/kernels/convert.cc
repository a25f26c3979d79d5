#include "kernels/convert.h"

#include <algorithm>

#include "kernels/convert_loops.h"

namespace hagane::kernels {

namespace {

namespace reference {

void ToBf16(size_t size, const float* x, uint16_t* y) {
  for (size_t i = 0; i < size; ++i) y[i] = hagane::ToBf16(x[i]).bits;
}

void ToFloat32(size_t size, const uint16_t* x, float* y) {
  for (size_t i = 0; i < size; ++i) y[i] = ToFloat(bf16{x[i]});
}

void Fill(size_t size, float value, float* y) { std::fill(y, y + size, value); }

void Add(size_t size, const float* x, float* y) {
  for (size_t i = 0; i < size; ++i) y[i] += x[i];
}

constexpr ConvertLoops kConvertLoops = {ToBf16, ToFloat32, Fill, Add};

}  // namespace reference

// Below one piece the call stays on the calling thread: waking the others costs more than it saves.
constexpr int64_t kPiece = 1 << 14;

// Calls body(begin, size) for pieces of [0, size) on all threads.
template <class Body>
void ForPieces(const RunContext& ctx, int64_t size, Body body) {
  const int64_t pieces = (size + kPiece - 1) / kPiece;
#pragma omp parallel for num_threads(ctx.threads) schedule(static) if (pieces > 1)
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t begin = piece * kPiece;
    body(begin, static_cast<size_t>(std::min(kPiece, size - begin)));
  }
}

}  // namespace

const ConvertLoops& ConvertLoopsFor(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return avx512::kConvertLoops;
    case Isa::kAvx2:
      return avx2::kConvertLoops;
    case Isa::kReference:
      break;
  }
  return reference::kConvertLoops;
}

void ToBf16(const RunContext& ctx, int64_t size, const float* x, bf16* y) {
  const ConvertLoops& loops = ConvertLoopsFor(ctx.isa);
  ForPieces(ctx, size,
            [&](int64_t begin, size_t n) { loops.to_bf16(n, x + begin, &y[begin].bits); });
}

void ToFloat32(const RunContext& ctx, int64_t size, const bf16* x, float* y) {
  const ConvertLoops& loops = ConvertLoopsFor(ctx.isa);
  ForPieces(ctx, size,
            [&](int64_t begin, size_t n) { loops.to_float32(n, &x[begin].bits, y + begin); });
}

void Fill(const RunContext& ctx, int64_t size, float value, float* y) {
  const ConvertLoops& loops = ConvertLoopsFor(ctx.isa);
  ForPieces(ctx, size, [&](int64_t begin, size_t n) { loops.fill(n, value, y + begin); });
}

void Add(const RunContext& ctx, int64_t size, const float* x, float* y) {
  const ConvertLoops& loops = ConvertLoopsFor(ctx.isa);
  ForPieces(ctx, size, [&](int64_t begin, size_t n) { loops.add(n, x + begin, y + begin); });
}

}  // namespace hagane::kernels
