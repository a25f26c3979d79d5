#include "kernels/adamw.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/adamw_loops.h"

namespace hagane::kernels {

const AdamWLoops& AdamWLoopsFor(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return avx512::kAdamWLoops;
    case Isa::kAvx2:
      return avx2::kAdamWLoops;
    case Isa::kReference:
      break;
  }
  return baseline::kAdamWLoops;
}

namespace {

// Work in pieces of this many elements; also the fixed chunks of SumOfSquares.
constexpr int64_t kPiece = 1 << 15;

}  // namespace

void AdamW(const RunContext& ctx, const AdamWArgs& args) {
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
  const int64_t pieces = (args.size + kPiece - 1) / kPiece;
#pragma omp parallel for num_threads(ctx.threads) schedule(static) if (pieces > 1)
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t at = piece * kPiece;
    loops.update(std::min(kPiece, args.size - at), factors, args.grad + at, args.param + at,
                 args.exp_avg + at, args.exp_avg_sq + at,
                 args.param_bf16 == nullptr ? nullptr : &args.param_bf16[at].bits);
  }
}

double SumOfSquares(const RunContext& ctx, int64_t size, const float* x) {
  const AdamWLoops& loops = AdamWLoopsFor(ctx.isa);
  const int64_t pieces = (size + kPiece - 1) / kPiece;
  thread_local std::vector<double> parts_of_thread;
  std::vector<double>& parts = parts_of_thread;  // the calling thread's, shared with its team
  parts.assign(static_cast<size_t>(pieces), 0.0);
#pragma omp parallel for num_threads(ctx.threads) schedule(static) if (pieces > 1)
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t at = piece * kPiece;
    parts[static_cast<size_t>(piece)] = loops.sum_of_squares(std::min(kPiece, size - at), x + at);
  }
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

}  // namespace hagane::kernels
