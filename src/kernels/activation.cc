#include "kernels/activation.h"

#include <string>

#include "base/error.h"
#include "base/profile.h"
#include "kernels/activation_loops.h"
#include "kernels/level.h"
#include "kernels/optional_pointer.h"
#include "kernels/row_chunks.h"

namespace hagane::kernels {

const ActivationLoops& ActivationLoopsFor(Isa isa) {
  return LoopsOf(isa, baseline::kActivationLoops, avx2::kActivationLoops, avx512::kActivationLoops);
}

Activation ParseActivation(std::string_view name) {
  if (name == "gelu" || name == "gelu_python") return Activation::kGelu;
  if (name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh") {
    return Activation::kGeluTanh;
  }
  if (name == "relu") return Activation::kRelu;
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "tanh") return Activation::kTanh;
  throw Error("the activation \"" + std::string(name) + "\" is not supported",
              "known: gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, relu, silu, swish, tanh");
}

void ActivationForward(const RunContext& ctx, const ActivationForwardArgs& args) {
  const ProfileScope profile(ctx, "activation forward", 0,
                             12.0 * static_cast<double>(args.rows * args.width));
  const ActivationLoops& loops = ActivationLoopsFor(ctx.isa);
  ForRowChunks(ctx, args.rows, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * args.width;
      loops.forward({args.activation, args.width, args.h + at, args.bias, Offset(args.z, at),
                     Offset(args.a, at), Bits(args.a_bf16, at), Bits(args.slope_bf16, at)});
    }
  });
}

void ActivationBackward(const RunContext& ctx, const ActivationBackwardArgs& args) {
  const ProfileScope profile(ctx, "activation backward", 0,
                             12.0 * static_cast<double>(args.rows * args.width));
  const ActivationLoops& loops = ActivationLoopsFor(ctx.isa);
  ChunkSums sums(args.dbias == nullptr ? 0 : args.rows, args.width);
  ForRowChunks(ctx, args.rows, [&](int64_t chunk, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * args.width;
      loops.backward({args.activation, args.width, args.da + at, Offset(args.z, at),
                      Bits(args.slope_bf16, at), Offset(args.dz, at), Bits(args.dz_bf16, at),
                      args.dbias == nullptr ? nullptr : sums.Of(chunk)});
    }
  });
  if (args.dbias != nullptr) sums.AddTo(args.dbias, 0, args.width);
}

void AddColumnSums(const RunContext& ctx, int64_t rows, int64_t width, int64_t ld, const float* x,
                   float* sums) {
  const ProfileScope profile(ctx, "column sums", 0, 4.0 * static_cast<double>(rows * width));
  const ActivationLoops& loops = ActivationLoopsFor(ctx.isa);
  ChunkSums parts(rows, width);
  ForRowChunks(ctx, rows, [&](int64_t chunk, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) loops.add(width, x + row * ld, parts.Of(chunk));
  });
  parts.AddTo(sums, 0, width);
}

void AddColumnSums(const RunContext& ctx, int64_t rows, int64_t width, int64_t ld, const bf16* x,
                   float* sums) {
  const ProfileScope profile(ctx, "column sums", 0, 2.0 * static_cast<double>(rows * width));
  const ActivationLoops& loops = ActivationLoopsFor(ctx.isa);
  ChunkSums parts(rows, width);
  ForRowChunks(ctx, rows, [&](int64_t chunk, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      loops.add_bf16(width, &x[row * ld].bits, parts.Of(chunk));
    }
  });
  parts.AddTo(sums, 0, width);
}

}  // namespace hagane::kernels
