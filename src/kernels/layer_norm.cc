#include "kernels/layer_norm.h"

#include "base/error.h"
#include "base/profile.h"
#include "kernels/dropout_mask.h"
#include "kernels/layer_norm_loops.h"
#include "kernels/level.h"
#include "kernels/optional_pointer.h"
#include "kernels/row_chunks.h"

namespace hagane::kernels {

const LayerNormLoops& LayerNormLoopsFor(Isa isa) {
  return LoopsOf(isa, baseline::kLayerNormLoops, avx2::kLayerNormLoops, avx512::kLayerNormLoops);
}

void LayerNormForward(const RunContext& ctx, const LayerNormForwardArgs& args) {
  HAGANE_CHECK(args.width % 4 == 0, "LayerNorm width");
  const ProfileScope profile(ctx, "layer_norm forward", 0,
                             16.0 * static_cast<double>(args.rows * args.width));
  const LayerNormLoops& loops = LayerNormLoopsFor(ctx.isa);
  const DropoutLoops& dropout = DropoutLoopsFor(ctx.isa);
  ForRowChunks(ctx, args.rows, [&](int64_t, int64_t begin, int64_t end) {
    MaskBuffer mask(args.dropout, args.width);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * args.width;
      LayerNormForwardRow one = {};
      one.width = args.width;
      one.h = args.h + at;
      one.bias = args.bias;
      one.mask = mask.RowOrNull(dropout, args.keys, row);
      one.residual = Offset(args.residual, at);
      one.gamma = args.gamma;
      one.beta = args.beta;
      one.eps = args.eps;
      one.z = args.z + at;
      one.mean = args.mean + row;
      one.rstd = args.rstd + row;
      one.y = args.y + at;
      one.y_bf16 = Bits(args.y_bf16, at);
      loops.forward(one);
    }
  });
}

void LayerNormBackward(const RunContext& ctx, const LayerNormBackwardArgs& args) {
  HAGANE_CHECK(args.width % 4 == 0, "LayerNorm width");
  const ProfileScope profile(ctx, "layer_norm backward", 0,
                             20.0 * static_cast<double>(args.rows * args.width));
  const LayerNormLoops& loops = LayerNormLoopsFor(ctx.isa);
  const DropoutLoops& dropout = DropoutLoopsFor(ctx.isa);
  const int64_t width = args.width;
  ChunkSums sums(args.rows, 3 * width);  // gamma, beta, bias
  ForRowChunks(ctx, args.rows, [&](int64_t chunk, int64_t begin, int64_t end) {
    MaskBuffer mask(args.dropout, width);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * width;
      LayerNormBackwardRow one = {};
      one.width = width;
      one.dy = args.dy + at;
      one.dy2 = Offset(args.dy2, at);
      one.z = args.z + at;
      one.gamma = args.gamma;
      one.mask = mask.RowOrNull(dropout, args.keys, row);
      one.mean = args.mean[row];
      one.rstd = args.rstd[row];
      one.dz = args.dz + at;
      one.dh = Offset(args.dh, at);
      one.dh_bf16 = Bits(args.dh_bf16, at);
      one.dgamma = sums.Of(chunk);
      one.dbeta = sums.Of(chunk) + width;
      one.dbias = args.dbias == nullptr ? nullptr : sums.Of(chunk) + 2 * width;
      loops.backward(one);
    }
  });
  sums.AddTo(args.dgamma, 0, width);
  sums.AddTo(args.dbeta, width, width);
  if (args.dbias != nullptr) sums.AddTo(args.dbias, 2 * width, width);
}

}  // namespace hagane::kernels
