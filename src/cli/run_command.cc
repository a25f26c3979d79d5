#include "cli/run_command.h"

#include <fmt/format.h>

#include <memory>

#include "cli/fine_tuning_run.h"
#include "cli/flag_parser.h"
#include "cli/flag_values.h"
#include "cli/glue_task.h"
#include "cli/help.h"
#include "cli/process_group.h"
#include "cli/qa_task.h"
#include "cli/run_arguments.h"
#include "cli/stop_signals.h"
#include "cli/version.h"
#include "kernels/gemm.h"
#include "kernels/machine_peak.h"

namespace hagane::cli {

namespace {

// Long enough for the scheduler to spread the threads over the cores: in 0.1 s both of two were at
// times still on one, and the peak came out half.
constexpr double kPeakSeconds = 0.6;

// The machine, what is used of it, and what it can do at best.
double SayMachine(const RunContext& ctx, bool bf16, Console* console) {
  const kernels::MachinePeak peak = kernels::MeasurePeak(ctx, kPeakSeconds, /*memory=*/false);
  const bool tiles = bf16 && peak.bf16_tile_gflops > 0;
  const double gflops = tiles ? peak.bf16_tile_gflops : peak.fp32_fma_gflops;
  console->Info(
      fmt::format("hagane {} on {} ({})\n{} thread{}, {} kernels, precision {} ({}), peak {:.0f} "
                  "GFLOP/s measured",
                  ProgramVersion(), ctx.cpu.model_name, ctx.cpu.Describe(), ctx.threads,
                  ctx.threads == 1 ? "" : "s", IsaName(ctx.isa), bf16 ? "bf16" : "fp32",
                  kernels::GemmDescription(ctx, bf16), gflops));
  return gflops;
}

// How one of the commands differs from the others.
struct RunCommand {
  const char *name, *what, *example;  // for help
  std::vector<Flag> (*flags)();
  std::unique_ptr<Task> (*make_task)(const ParsedFlags& flags, const RunArguments& arguments);
};

int Run(const RunCommand& command, const std::vector<std::string>& args, const Streams& streams) {
  const ParsedFlags flags = ParseFlags(command.flags(), args, command.name);
  if (flags.Bool("help") || flags.Bool("help_all")) {
    streams.out << RunHelp(command.name, command.what, command.example, flags.table(),
                           flags.Bool("help_all"));
    return 0;
  }
  const bool only_prints = flags.Bool("print_config");
  Console early(streams, Console::Level::kAll);
  const double start_seconds = flags.given("ddp_timeout")
                                   ? static_cast<double>(IntFrom(flags, "ddp_timeout", 1))
                                   : comm::Deadlines().start;
  const std::unique_ptr<comm::Group> group =
      only_prints ? std::make_unique<comm::Group>()
                  : JoinGroup(flags.String("ddp_backend"), start_seconds, streams, early);
  if (!group->leads()) early.Mute();
  return InGroup(group.get(), streams, [&] {
    const RunArguments arguments = MakeRunArguments(flags, early);
    const std::unique_ptr<Task> task = command.make_task(flags, arguments);
    if (only_prints) {
      streams.out << arguments.all_arguments;
      return 0;
    }
    Console console(streams, arguments.presentation.level);
    if (arguments.presentation.json) console.SetJsonOnly();
    if (!group->leads()) console.Mute();
    RunContext ctx =
        MakeRunContext(arguments.isa, arguments.threads, console, ShareOfCores(group.get()));
    const StopSignals signals;
    ctx.stop_requested = [&signals] { return signals.received() != 0; };
    const double peak = SayMachine(ctx, arguments.bf16, &console);
    SayGroup(group.get(), ctx, console);
    return FineTuningRun(arguments, task.get(), ctx, group.get(), peak, &console).Run();
  });
}

}  // namespace

int RunGlueCommand(const std::vector<std::string>& args, const Streams& streams) {
  const auto make_task = [](const ParsedFlags& flags,
                            const RunArguments& arguments) -> std::unique_ptr<Task> {
    return std::make_unique<GlueTask>(MakeGlueOptions(flags, arguments), arguments.data);
  };
  return Run({"hagane run_glue",
              "Fine-tunes, evaluates and predicts with a sequence-classification model, as "
              "run_glue.py does.",
              "  hagane run_glue --model_name_or_path DIR --train_file train.csv --validation_file "
              "dev.csv \\\n      --do_train --do_eval --output_dir out",
              RunGlueFlags, make_task},
             args, streams);
}

int RunQaCommand(const std::vector<std::string>& args, const Streams& streams) {
  const auto make_task = [](const ParsedFlags& flags,
                            const RunArguments& arguments) -> std::unique_ptr<Task> {
    return std::make_unique<QaTask>(MakeQaOptions(flags, arguments), arguments.data,
                                    arguments.model.cache_dir);
  };
  return Run({"hagane run_qa",
              "Fine-tunes, evaluates and predicts with an extractive question-answering model, as "
              "run_qa.py\ndoes.",
              "  hagane run_qa --model_name_or_path DIR --train_file train-v1.1.json "
              "--validation_file \\\n      dev-v1.1.json --do_train --do_eval --output_dir out",
              RunQaFlags, make_task},
             args, streams);
}

}  // namespace hagane::cli
