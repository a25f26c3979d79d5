#include "kernels/machine_peak.h"

#include <algorithm>
#include <chrono>

#include "base/aligned_buffer.h"
#include "kernels/machine_peak_loops.h"

namespace hagane::kernels {

namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A loop and the operations of each of its rounds.
struct Loop {
  float (*run)(int64_t rounds) = nullptr;
  double per_round = 0;
};

namespace reference {

// Plain loops may use only the baseline's separate multiplications and additions.
constexpr int kLanes = 32;
float MultiplyAddLoop(int64_t rounds) {
  float sums[kLanes];
  std::fill(sums, sums + kLanes, 0.1f);
  for (int64_t i = 0; i < rounds; ++i) {
    for (float& sum : sums) sum = sum * 0.999f + 0.1f;
  }
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

}  // namespace reference

Loop FmaLoopFor(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return {avx512::FmaLoop, avx512::kFlopsPerRound};
    case Isa::kAvx2:
      return {avx2::FmaLoop, avx2::kFlopsPerRound};
    case Isa::kReference:
      break;
  }
  return {reference::MultiplyAddLoop, reference::kLanes * 2.0};
}

// Calls `run` (which returns a rate) until `seconds` have passed, and at least three times: the
// best is what the machine can do, the others were disturbed.
template <class Run>
double BestRate(double seconds, Run run) {
  const auto start = Clock::now();
  double best = 0;
  for (int repeat = 0; repeat < 3 || SecondsSince(start) < seconds; ++repeat) {
    best = std::max(best, run());
  }
  return best;
}

// Operations a second, in billions, with the loop on `threads` threads at once.
double LoopRate(const Loop& loop, int threads, double seconds) {
  constexpr double kOperations = 2e8;  // a thread and repeat: a millisecond or so
  const auto rounds = static_cast<int64_t>(kOperations / loop.per_round);
  volatile float sink = 0;
  return BestRate(seconds, [&] {
    const auto start = Clock::now();
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
      const float result = loop.run(rounds);
#pragma omp critical
      sink = result;
    }
    return static_cast<double>(rounds) * loop.per_round * threads / SecondsSince(start) * 1e-9;
  });
}

// x = y + s z over arrays far above the caches; two reads and a write are counted.
double TriadRate(int threads, double seconds) {
  const int64_t size = (int64_t{8} << 20) * std::max(threads, 2);  // 32 MiB a thread and array
  AlignedBuffer<float> x(static_cast<size_t>(size)), y(x.size()), z(x.size());
  // Written first by the threads that will read them: so pages lie in their memory.
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < size; ++i) {
    x[static_cast<size_t>(i)] = 0.0f;
    y[static_cast<size_t>(i)] = 1.0f;
    z[static_cast<size_t>(i)] = 2.0f;
  }
  float* const px = x.data();
  const float* const py = y.data();
  const float* const pz = z.data();
  return BestRate(seconds, [&] {
    const auto start = Clock::now();
#pragma omp parallel for simd num_threads(threads) schedule(static)
    for (int64_t i = 0; i < size; ++i) px[i] = py[i] + 0.5f * pz[i];
    return 3.0 * sizeof(float) * static_cast<double>(size) / SecondsSince(start) * 1e-9;
  });
}

}  // namespace

MachinePeak MeasurePeak(const RunContext& ctx, double seconds, bool memory) {
  const bool bf16_tiles = ctx.isa == Isa::kAvx512 && ctx.cpu.amx_bf16;
  const bool int8_tiles = ctx.isa == Isa::kAvx512 && ctx.cpu.amx_int8;
  const double share = seconds / (2 + bf16_tiles + int8_tiles + (memory ? 2 : 0));

  MachinePeak peak;
  const Loop fma = FmaLoopFor(ctx.isa);
  peak.fp32_fma_gflops_core = LoopRate(fma, 1, share);
  peak.fp32_fma_gflops =
      ctx.threads == 1 ? peak.fp32_fma_gflops_core : LoopRate(fma, ctx.threads, share);
  if (bf16_tiles) {
    peak.bf16_tile_gflops =
        LoopRate({amx::Bf16TileLoop, amx::kBf16FlopsPerRound}, ctx.threads, share);
  }
  if (int8_tiles) {
    peak.int8_tile_gops = LoopRate({amx::Int8TileLoop, amx::kInt8OpsPerRound}, ctx.threads, share);
  }
  if (memory) peak.memory_gb_s = TriadRate(ctx.threads, 2 * share);
  return peak;
}

}  // namespace hagane::kernels
