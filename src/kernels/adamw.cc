#include "kernels/adamw.h"

#include <cmath>
#include <vector>

#include "base/profile.h"
#include "kernels/adamw_loops.h"
#include "kernels/level.h"
#include "kernels/optional_pointer.h"
#include "kernels/row_chunks.h"

namespace hagane::kernels {

const AdamWLoops& AdamWLoopsFor(Isa isa) {
  return LoopsOf(isa, baseline::kAdamWLoops, avx2::kAdamWLoops, avx512::kAdamWLoops);
}

namespace {

// Work in pieces of this many elements; also the fixed chunks of SumOfSquares.
constexpr int64_t kPiece = 1 << 15;

}  // namespace

void AdamW(const RunContext& ctx, const AdamWArgs& args) {
  const ProfileScope profile(
      ctx, "adamw", 0,
      (28.0 + (args.param_bf16 != nullptr ? 2 : 0) + (args.zeroed != nullptr ? 4 : 0)) *
          static_cast<double>(args.size));
  const AdamWLoops& loops = AdamWLoopsFor(ctx.isa);
  const auto t = static_cast<double>(args.step);
  AdamWFactors factors = {};
  factors.clip = args.clip;
  factors.keep = static_cast<float>(1.0 - args.lr * args.weight_decay);
  factors.one_minus_b1 = static_cast<float>(1.0 - args.beta1);
  factors.b2 = static_cast<float>(args.beta2);
  factors.one_minus_b2 = static_cast<float>(1.0 - args.beta2);
  factors.inverse_root = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(args.beta2, t)));
  factors.eps = static_cast<float>(args.eps);
  factors.rate = static_cast<float>(args.lr / (1.0 - std::pow(args.beta1, t)));
  ForChunks(ctx, args.size, kPiece, [&](int64_t, int64_t at, int64_t end) {
    loops.update(end - at, factors, args.grad + at, args.param + at, args.exp_avg + at,
                 args.exp_avg_sq + at, Bits(args.param_bf16, at), Offset(args.zeroed, at));
  });
}

double SumOfSquares(const RunContext& ctx, int64_t size, const float* x) {
  const ProfileScope profile(ctx, "sum of squares", 0, 4.0 * static_cast<double>(size));
  const AdamWLoops& loops = AdamWLoopsFor(ctx.isa);
  thread_local std::vector<double> parts_of_thread;
  std::vector<double>& parts = parts_of_thread;  // the calling thread's, shared with its team
  parts.assign(static_cast<size_t>(Chunks(size, kPiece)), 0.0);
  ForChunks(ctx, size, kPiece, [&](int64_t piece, int64_t begin, int64_t end) {
    parts[static_cast<size_t>(piece)] = loops.sum_of_squares(end - begin, x + begin);
  });
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

}  // namespace hagane::kernels
