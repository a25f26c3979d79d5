#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "kernels/machine_peak.h"

namespace hagane::cli {

namespace {

std::vector<Flag> PeakFlags() {
  return WithBenchFlags({{"seconds",
                          FlagType::kFloat,
                          "2.0",
                          FlagGroup::kHagane,
                          "time to measure",
                          FlagUse::kUsed,
                          {},
                          {},
                          true}});
}

std::string Text(const RunContext& ctx, const kernels::MachinePeak& peak) {
  std::string text = fmt::format(
      "{} ({}), {} threads, {} kernels\n"
      "fp32 FMA   {:8.1f} GFLOP/s, one thread {:.1f}\n",
      ctx.cpu.model_name, ctx.cpu.Describe(), ctx.threads, IsaName(ctx.isa), peak.fp32_fma_gflops,
      peak.fp32_fma_gflops_core);
  if (peak.bf16_tile_gflops > 0) {
    text += fmt::format("bf16 tiles {:8.1f} GFLOP/s\nint8 tiles {:8.1f} GOP/s\n",
                        peak.bf16_tile_gflops, peak.int8_tile_gops);
  }
  return text + fmt::format("memory     {:8.1f} GB/s (triad)\n", peak.memory_gb_s);
}

std::string Json(const RunContext& ctx, const kernels::MachinePeak& peak) {
  const nlohmann::ordered_json json{{"cpu", ctx.cpu.model_name},
                                    {"features", ctx.cpu.Describe()},
                                    {"isa", std::string(IsaName(ctx.isa))},
                                    {"threads", ctx.threads},
                                    {"fp32_fma_gflops", peak.fp32_fma_gflops},
                                    {"fp32_fma_gflops_core", peak.fp32_fma_gflops_core},
                                    {"bf16_tile_gflops", peak.bf16_tile_gflops},
                                    {"int8_tile_gops", peak.int8_tile_gops},
                                    {"memory_gb_s", peak.memory_gb_s}};
  return json.dump(2) + "\n";
}

int BenchPeak(const std::vector<std::string>& args, const Streams& streams) {
  const ParsedFlags flags = ParseFlags(PeakFlags(), args, "hagane bench peak");
  if (flags.Bool("help")) {
    streams.out << CommandHelp("hagane bench peak [flags]",
                               "Measures the FMA peak, the tile peak where there is one, and the "
                               "memory bandwidth.",
                               PeakFlags(), false);
    return 0;
  }
  const double seconds = flags.Float("seconds");
  if (!(seconds > 0 && seconds <= 600)) throw UsageError("--seconds must be above 0, at most 600");
  Console console(streams, Console::Level::kAll);
  const RunContext ctx = BenchContext(flags, console);
  const kernels::MachinePeak peak = kernels::MeasurePeak(ctx, seconds, /*memory=*/true);
  streams.out << (flags.Bool("json") ? Json(ctx, peak) : Text(ctx, peak));
  return 0;
}

}  // namespace

std::vector<Flag> WithBenchFlags(std::vector<Flag> own) {
  using enum FlagType;
  using enum FlagUse;
  const FlagGroup group = FlagGroup::kHagane;
  own.insert(
      own.end(),
      {{"isa", kString, "", group, "instruction set", kUsed, {}, {"ref", "avx2", "avx512"}, true},
       {"threads", kInt, "0", group, "0: one for each physical core", kUsed, {}, {}, true},
       {"json", kBool, "False", group, "stdout holds one JSON object", kUsed, {}, {}, true},
       {"help", kBool, "False", group, "this text"}});
  return own;
}

RunContext BenchContext(const ParsedFlags& flags, Console& console) {
  return MakeRunContext(flags.String("isa"),
                        static_cast<int>(std::clamp<int64_t>(flags.Int("threads"), -1, 1 << 20)),
                        console);
}

double PeakGflops(const kernels::MachinePeak& peak, bool bf16) {
  return bf16 && peak.bf16_tile_gflops > 0 ? peak.bf16_tile_gflops : peak.fp32_fma_gflops;
}

int BenchCommand(const std::vector<std::string>& args, const Streams& streams) {
  const std::string usage =
      "hagane bench peak [flags]\n       hagane bench kernels [flags]\n       hagane bench step "
      "[flags]";
  const std::string what = args.empty() ? "" : args[0];
  const std::vector<std::string> rest(args.begin() + (args.empty() ? 0 : 1), args.end());
  if (what == "peak") return BenchPeak(rest, streams);
  if (what == "kernels") return BenchKernels(rest, streams);
  if (what == "step") return BenchStep(rest, streams);
  if (what == "--help" || what == "-h") {
    streams.out << "usage: " << usage << "\n\nEach says more with --help.\n";
    return 0;
  }
  throw UsageError("hagane bench needs to know what to measure: peak, kernels or step", usage);
}

}  // namespace hagane::cli
