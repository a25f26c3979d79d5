#include "cli/run_arguments.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "cli/flag_values.h"
#include "io/json.h"

namespace hagane::cli {

namespace {

void CheckUse(const ParsedFlags& flags, Log& log) {
  std::string always;
  for (const Flag& flag : flags.table()) {
    if (!flags.given(flag.name) || !flags.changed(flag.name)) continue;
    if (flag.use == FlagUse::kRefused) {
      throw UsageError(fmt::format("--{} cannot be used: {}", flag.name, flag.help),
                       fmt::format("leave out --{}", flag.name));
    }
    if (flag.use == FlagUse::kIgnored) {
      log.Warning(fmt::format("--{} changes nothing: {}", flag.name, flag.help));
    }
    if (flag.use == FlagUse::kNoOp) {
      always += fmt::format("{}--{} ({})", always.empty() ? "" : ", ", flag.name, flag.help);
    }
  }
  if (!always.empty()) log.Info("accepted: " + always);
}

ModelSource MakeModelSource(const ParsedFlags& flags) {
  ModelSource model;
  if (!flags.given("model_name_or_path")) {
    throw UsageError("--model_name_or_path is missing",
                     "give a model folder (config.json, model.safetensors, tokenizer files) or a "
                     "hub id that is in the local cache");
  }
  model.name_or_path = ExpandHome(flags.String("model_name_or_path")).string();
  model.config_name = flags.String("config_name");
  model.tokenizer_name = flags.String("tokenizer_name");
  model.cache_dir = flags.String("cache_dir");
  model.revision = flags.String("model_revision");
  model.init_from_scratch = flags.Bool("init_from_scratch");
  return model;
}

DataSource MakeDataSource(const ParsedFlags& flags) {
  DataSource data;
  data.files = {OptionalPath(flags, "train_file"), OptionalPath(flags, "validation_file"),
                OptionalPath(flags, "test_file")};
  data.splits.max_train = RowLimit(flags, "max_train_samples");
  data.splits.max_evaluation = RowLimit(flags, "max_eval_samples");
  data.splits.max_prediction = RowLimit(flags, "max_predict_samples");
  data.max_seq_length =
      static_cast<int>(std::min<int64_t>(IntFrom(flags, "max_seq_length", 1), int64_t{1} << 30));
  data.overwrite_cache = flags.Bool("overwrite_cache");
  return data;
}

OutputFolder MakeOutputFolder(const ParsedFlags& flags) {
  if (!flags.given("output_dir")) {
    throw UsageError("--output_dir is missing", "name the folder that will hold the model");
  }
  OutputFolder output;
  output.path = ExpandHome(flags.String("output_dir"));
  output.overwrite = flags.Bool("overwrite_output_dir");
  output.no_resume = flags.Bool("no_resume");
  output.resume_despite_changes = flags.Bool("resume_despite_changes");
  const std::string resume = flags.String("resume_from_checkpoint");
  if (resume == "True" || resume == "true") {
    output.resume_from = "last";
  } else if (resume != "False" && resume != "false") {
    output.resume_from = ExpandHome(resume).string();
  }
  return output;
}

Presentation MakePresentation(const ParsedFlags& flags) {
  Presentation presentation;
  presentation.progress_bar = !flags.OptionalBool("disable_tqdm").value_or(false);
  presentation.json = flags.Bool("json");
  presentation.dry_run = flags.Bool("dry_run");
  const std::string level = flags.String("log_level");
  if (level == "warning") presentation.level = Console::Level::kWarnings;
  if (level == "error" || level == "critical") presentation.level = Console::Level::kErrors;
  return presentation;
}

}  // namespace

RunArguments MakeRunArguments(const ParsedFlags& flags, Log& log) {
  CheckUse(flags, log);
  RunArguments arguments;
  arguments.train = MakeTrainOptions(flags);
  arguments.do_train = flags.Bool("do_train");
  arguments.do_eval =
      flags.Bool("do_eval") || arguments.train.evaluation.strategy != train::Interval::kNo;
  arguments.do_predict = flags.Bool("do_predict");
  arguments.model = MakeModelSource(flags);
  arguments.output = MakeOutputFolder(flags);
  arguments.train.output_dir = arguments.output.path;
  arguments.train.resume_despite_changes = arguments.output.resume_despite_changes;
  if (!arguments.do_train && !arguments.do_eval && !arguments.do_predict) {
    throw UsageError("there is nothing to do", "add --do_train, --do_eval or --do_predict");
  }
  arguments.data = MakeDataSource(flags);
  arguments.data.splits.train = arguments.do_train;
  arguments.data.splits.evaluation = arguments.do_eval;
  arguments.data.splits.prediction = arguments.do_predict;
  arguments.presentation = MakePresentation(flags);
  arguments.bf16 = flags.Bool("bf16");
  arguments.bf16_full_eval = flags.Bool("bf16_full_eval");
  arguments.memory_check = flags.Bool("memory_check");
  arguments.isa = flags.String("isa");
  arguments.threads = static_cast<int>(std::min<int64_t>(IntFrom(flags, "threads", 0), 1 << 20));
  arguments.all_arguments = io::DumpPython(flags.ToJson(), 2, false) + "\n";
  return arguments;
}

}  // namespace hagane::cli
