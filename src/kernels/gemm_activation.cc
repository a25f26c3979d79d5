#include "kernels/gemm_activation.h"

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "base/profile.h"
#include "kernels/activation.h"
#include "kernels/gemm_tiles.h"

namespace hagane::kernels {

namespace {

void CheckArgs(const GemmArgs& product) {
  HAGANE_CHECK(product.c == nullptr && product.c_bf16 == nullptr && !product.accumulate);
  HAGANE_CHECK(product.ldc == product.n, "dense outputs");
}

bool OnTiles(const RunContext& ctx, const GemmArgs& product) {
  return HasTiles(ctx) && product.m > 0 && product.n > 0 && product.k > 0;
}

double Flops(const GemmArgs& product) {
  return 2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) *
         static_cast<double>(product.k);
}

// The product as float32 on its way, in memory that is kept.
float* Multiply(const RunContext& ctx, GemmArgs product) {
  thread_local AlignedBuffer<float> c;
  c.Reserve(static_cast<size_t>(product.m * product.n));
  product.c = c.data();
  product.bias = nullptr;
  Gemm(ctx, product);
  return c.data();
}

}  // namespace

void GemmActivation(const RunContext& ctx, const GemmActivationArgs& args) {
  GemmArgs product = args.product;
  CheckArgs(product);
  if (OnTiles(ctx, product)) {
    const ProfileScope profile(ctx, "gemm y + activation", Flops(product), 0);
    product.c_bf16 = args.a;
    TileEpilogue epilogue;
    epilogue.activation = args.activation;
    epilogue.slope_out = args.slope;
    return TileGemm(ctx, amx::kTileGemmLoops, product, epilogue);
  }
  ActivationForwardArgs activation;
  activation.rows = product.m;
  activation.width = product.n;
  activation.activation = args.activation;
  activation.h = Multiply(ctx, product);
  activation.bias = product.bias;
  activation.a_bf16 = args.a;
  activation.slope_bf16 = args.slope;
  ActivationForward(ctx, activation);
}

void GemmSlope(const RunContext& ctx, const GemmSlopeArgs& args) {
  GemmArgs product = args.product;
  CheckArgs(product);
  if (OnTiles(ctx, product)) {
    const ProfileScope profile(ctx, "gemm dx + activation", Flops(product), 0);
    product.c_bf16 = args.dz;
    TileEpilogue epilogue;
    epilogue.slope_in = args.slope;
    epilogue.column_sums = args.dbias;
    return TileGemm(ctx, amx::kTileGemmLoops, product, epilogue);
  }
  ActivationBackwardArgs activation;
  activation.rows = product.m;
  activation.width = product.n;
  activation.da = Multiply(ctx, product);
  activation.slope_bf16 = args.slope;
  activation.dz_bf16 = args.dz;
  activation.dbias = args.dbias;
  ActivationBackward(ctx, activation);
}

}  // namespace hagane::kernels
