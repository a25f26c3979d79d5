#include "kernels/machine_peak.h"

#include <gtest/gtest.h>

#include "base/run_context.h"

namespace hagane::kernels {
namespace {

RunContext Context() {
  static NullLog log;
  RunContext ctx;
  ctx.cpu = DetectCpu();
  ctx.isa = ctx.cpu.best;
  ctx.threads = 2;
  ctx.log = &log;
  return ctx;
}

// No CPU of the levels does less than 0.1 or more than 10,000 billion operations a second and core;
// a loop that the compiler removed would.
TEST(MachinePeak, EveryLevelGivesARateThatCanBe) {
  RunContext ctx = Context();
  for (const Isa isa : SupportedIsas(ctx.cpu)) {
    ctx.isa = isa;
    const MachinePeak peak = MeasurePeak(ctx, 0.02, false);
    EXPECT_GT(peak.fp32_fma_gflops_core, 0.1) << IsaName(isa);
    EXPECT_LT(peak.fp32_fma_gflops_core, 1e4) << IsaName(isa);
    EXPECT_GT(peak.fp32_fma_gflops, 0.1) << IsaName(isa);
    EXPECT_LT(peak.fp32_fma_gflops, 2e4) << IsaName(isa);
    EXPECT_EQ(peak.memory_gb_s, 0) << IsaName(isa);
  }
}

TEST(MachinePeak, MemoryIsMeasuredWhenAskedFor) {
  const MachinePeak peak = MeasurePeak(Context(), 0.02, true);
  EXPECT_GT(peak.memory_gb_s, 0.01);
  EXPECT_LT(peak.memory_gb_s, 1e4);
}

TEST(MachinePeak, TilesAreMeasuredWhereTheyArePermitted) {
  const RunContext ctx = Context();
  const MachinePeak peak = MeasurePeak(ctx, 0.02, false);
  EXPECT_EQ(peak.bf16_tile_gflops > 0, ctx.cpu.amx_bf16);
  EXPECT_EQ(peak.int8_tile_gops > 0, ctx.cpu.amx_int8);
}

}  // namespace
}  // namespace hagane::kernels
