// hagane bench step: whole training steps of a model with random weights.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/profile.h"
#include "cli/bench.h"
#include "cli/bench_lengths.h"
#include "cli/bench_models.h"
#include "cli/help.h"
#include "train/optimizer.h"

namespace hagane::cli {

namespace {

constexpr char kUsage[] = "hagane bench step [flags]";

std::vector<Flag> StepFlags() {
  using enum FlagType;
  using enum FlagUse;
  const FlagGroup group = FlagGroup::kHagane;
  return WithBenchFlags({
      {"model",
       kString,
       "bert-base",
       group,
       "shape of the model",
       kUsed,
       {},
       {"minilm", "distilbert", "bert-base", "bert-large"},
       true},
      {"lengths",
       kString,
       "mrpc",
       group,
       "mrpc, qqp, sst2, squad, or one length for all",
       kUsed,
       {},
       {},
       true},
      {"batch", kInt, "32", group, "sequences in a step", kUsed, {}, {}, true},
      {"steps", kInt, "9", group, "steps to time, after two that are not", kUsed, {}, {}, true},
      {"bf16", kBool, "False", group, "operands of products in bf16", kUsed, {}, {}, true},
      {"cpu_time",
       kBool,
       "False",
       group,
       "count CPU time by threads, for a machine shared with others",
       kUsed,
       {},
       {},
       true},
      {"profile",
       kBool,
       "False",
       group,
       "where the time goes, by kernel and part",
       kUsed,
       {},
       {},
       true},
  });
}

struct StepOptions {
  std::string model, lengths;
  int batch = 0, steps = 0;
  bool bf16 = false, profile = false;
};

StepOptions ReadOptions(const ParsedFlags& flags) {
  const auto count = [&](const char* flag, int64_t most) {
    const int64_t value = flags.Int(flag);
    if (value < 1 || value > most) {
      throw UsageError(fmt::format("--{} must be 1 to {}", flag, most), kUsage);
    }
    return static_cast<int>(value);
  };
  return {flags.String("model"),   flags.String("lengths"), count("batch", 1 << 16),
          count("steps", 1 << 20), flags.Bool("bf16"),      flags.Bool("profile")};
}

std::vector<int32_t> LengthsFor(const StepOptions& options, const nn::EncoderConfig& config) {
  const int count = options.batch * (options.steps + 2);
  const std::string& text = options.lengths;
  if (text.find_first_not_of("0123456789") != std::string::npos || text.empty()) {
    return BenchLengths(text, count);
  }
  const int64_t length = text.size() > 9 ? 0 : std::stoll(text);
  if (length < 1 || length > config.longest_sequence()) {
    throw UsageError(fmt::format("--lengths must be 1 to {}", config.longest_sequence()), kUsage);
  }
  return std::vector<int32_t>(static_cast<size_t>(count), static_cast<int32_t>(length));
}

struct StepResult {
  double examples_per_s = 0, tokens_per_s = 0, gflops = 0;  // by the median step
  double best_gflops = 0;                                   // of the fastest one
  double peak_gflops = 0, peak_memory_bytes = 0;
  double seconds = 0;  // of all timed steps
  double percent() const { return 100 * gflops / peak_gflops; }
};

StepResult TimeSteps(const RunContext& ctx, const StepOptions& options,
                     const std::vector<int32_t>& lengths, nn::Model* model,
                     const ProfileClock& clock, Profile* profile) {
  train::OptimizerOptions optimizer_options;
  train::Optimizer optimizer(ctx, optimizer_options, &model->parameters());
  const auto batch_size = static_cast<size_t>(options.batch);
  StepResult result;
  std::vector<double> rates;
  double flops_of_all = 0, tokens_of_all = 0;
  for (int step = -2; step < options.steps; ++step) {
    const auto first = static_cast<size_t>(step + 2) * batch_size;
    const PackedBatch batch =
        MakeBenchBatch(std::span(lengths).subspan(first, batch_size), model->config());
    if (step == 0 && profile != nullptr) profile->Clear();
    const double start = clock.Now();
    model->ForwardBackward(batch, {42, static_cast<uint32_t>(step + 2), true}, 1.0 / options.batch,
                           {}, nullptr);
    optimizer.Step(1e-5, optimizer.GradientNorm());
    const double seconds = clock.Now() - start;
    if (step < 0) continue;
    const double flops = 3 * model->ForwardFlops(batch);
    rates.push_back(flops / seconds * 1e-9);
    flops_of_all += flops * 1e-9;
    tokens_of_all += batch.tokens();
    result.seconds += seconds;
  }
  std::sort(rates.begin(), rates.end());
  result.gflops = rates[rates.size() / 2];
  result.best_gflops = rates.back();
  result.examples_per_s = result.gflops * options.batch * options.steps / flops_of_all;
  result.tokens_per_s = result.gflops * tokens_of_all / flops_of_all;
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  result.peak_memory_bytes = 1024.0 * static_cast<double>(usage.ru_maxrss);
  return result;
}

// Sums of the profile's rows by one of their names, the largest first.
std::vector<Profile::Row> SumsBy(const Profile& profile, std::string_view Profile::Row::*name) {
  std::vector<Profile::Row> sums;
  for (const Profile::Row& row : profile.rows()) {
    auto sum = std::find_if(sums.begin(), sums.end(),
                            [&](const Profile::Row& s) { return s.*name == row.*name; });
    if (sum == sums.end()) {
      sums.push_back(row);
      continue;
    }
    sum->calls += row.calls;
    sum->seconds += row.seconds;
    sum->flops += row.flops;
    sum->bytes += row.bytes;
  }
  std::sort(sums.begin(), sums.end(),
            [](const Profile::Row& a, const Profile::Row& b) { return a.seconds > b.seconds; });
  return sums;
}

std::string ProfileText(const Profile& profile, double seconds, int steps) {
  std::string text;
  const auto table = [&](const char* title, const std::vector<Profile::Row>& rows,
                         const auto& name_of) {
    text += fmt::format("\n{:36} {:>7} {:>10} {:>9} {:>9} {:>8}\n", title, "calls", "ms a step",
                        "GFLOP/s", "GB/s", "% of step");
    double named = 0;
    for (const Profile::Row& row : rows) {
      named += row.seconds;
      const auto rate = [&](double work) {
        return work > 0 ? fmt::format("{:.1f}", work / row.seconds * 1e-9) : std::string("-");
      };
      text += fmt::format("{:36} {:7} {:10.2f} {:>9} {:>9} {:9.1f}\n", name_of(row),
                          row.calls / steps, 1e3 * row.seconds / steps, rate(row.flops),
                          rate(row.bytes), 100 * row.seconds / seconds);
    }
    text +=
        fmt::format("{:36} {:7} {:10.2f} {:>9} {:>9} {:9.1f}\n", "between kernels", "",
                    1e3 * (seconds - named) / steps, "-", "-", 100 * (seconds - named) / seconds);
  };
  table("kernel", SumsBy(profile, &Profile::Row::kernel),
        [](const Profile::Row& row) { return std::string(row.kernel); });
  table("part", SumsBy(profile, &Profile::Row::part),
        [](const Profile::Row& row) { return std::string(row.part); });
  std::vector<Profile::Row> rows = profile.rows();
  std::sort(rows.begin(), rows.end(),
            [](const Profile::Row& a, const Profile::Row& b) { return a.seconds > b.seconds; });
  table("part: kernel", rows,
        [](const Profile::Row& row) { return fmt::format("{}: {}", row.part, row.kernel); });
  return text;
}

nlohmann::ordered_json ProfileJson(const Profile& profile, int steps) {
  auto rows = nlohmann::ordered_json::array();
  for (const Profile::Row& row : profile.rows()) {
    rows.push_back({{"part", row.part},
                    {"kernel", row.kernel},
                    {"calls", row.calls / steps},
                    {"seconds", row.seconds / steps},
                    {"flops", row.flops / steps},
                    {"bytes", row.bytes / steps}});
  }
  return rows;
}

}  // namespace

int BenchStep(const std::vector<std::string>& args, const Streams& streams) {
  const ParsedFlags flags = ParseFlags(StepFlags(), args, "hagane bench step");
  if (flags.Bool("help")) {
    streams.out << CommandHelp(kUsage,
                               "Times whole training steps (forward, backward, clipping, AdamW) of "
                               "a model with random weights.",
                               StepFlags(), false);
    return 0;
  }
  const StepOptions options = ReadOptions(flags);
  const std::vector<int32_t> lengths =
      LengthsFor(options, nn::ParseEncoderConfig(BenchModelConfig(options.model), options.model));
  Console console(streams, Console::Level::kAll);
  RunContext ctx = BenchContext(flags, console);
  const ProfileClock clock =
      flags.Bool("cpu_time") ? ProfileClock::OfCpuTime(ctx.threads) : ProfileClock();
  Profile profile(clock);
  if (options.profile) ctx.profile = &profile;
  const ProblemType problem =
      options.lengths == "squad" ? ProblemType::kSpan : ProblemType::kSingleLabel;
  const auto model = MakeBenchModel(ctx, options.model, problem, options.bf16);

  // The peak belongs to the same minute: before and after, the better one.
  constexpr double kPeakSeconds = 0.5;
  double peak = PeakGflops(kernels::MeasurePeak(ctx, kPeakSeconds, false), options.bf16);
  StepResult result = TimeSteps(ctx, options, lengths, model.get(), clock, ctx.profile);
  peak = std::max(peak, PeakGflops(kernels::MeasurePeak(ctx, kPeakSeconds, false), options.bf16));
  result.peak_gflops = peak;

  if (flags.Bool("json")) {
    nlohmann::ordered_json json{{"cpu", ctx.cpu.model_name},
                                {"features", ctx.cpu.Describe()},
                                {"isa", std::string(IsaName(ctx.isa))},
                                {"threads", ctx.threads},
                                {"model", options.model},
                                {"lengths", options.lengths},
                                {"batch", options.batch},
                                {"bf16", options.bf16},
                                {"examples_per_s", result.examples_per_s},
                                {"tokens_per_s", result.tokens_per_s},
                                {"gflops", result.gflops},
                                {"best_gflops", result.best_gflops},
                                {"peak_gflops", result.peak_gflops},
                                {"percent_of_peak", result.percent()},
                                {"peak_memory_bytes", result.peak_memory_bytes}};
    if (options.profile) json["profile"] = ProfileJson(profile, options.steps);
    streams.out << json.dump(2) << "\n";
    return 0;
  }
  streams.out << fmt::format(
      "{} ({}), {} threads, {} kernels\n"
      "{}, {} lengths, batch {}, {}: {} steps, medians\n"
      "{:10.1f} examples/s\n{:10.0f} tokens/s\n"
      "{:10.1f} useful GFLOP/s = {:.1f} % of the measured peak of {:.0f} (fastest step {:.1f})\n"
      "{:10.2f} GB of memory at most\n",
      ctx.cpu.model_name, ctx.cpu.Describe(), ctx.threads, IsaName(ctx.isa), options.model,
      options.lengths, options.batch, options.bf16 ? "bf16" : "fp32", options.steps,
      result.examples_per_s, result.tokens_per_s, result.gflops, result.percent(),
      result.peak_gflops, result.best_gflops, result.peak_memory_bytes * 1e-9);
  if (options.profile) streams.out << ProfileText(profile, result.seconds, options.steps);
  return 0;
}

}  // namespace hagane::cli
