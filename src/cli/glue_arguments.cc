#include "cli/glue_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "data/nearest.h"
#include "io/json.h"

namespace hagane::cli {

namespace {

[[noreturn]] void OutOfRange(std::string_view flag, const std::string& value,
                             const char* expected) {
  throw UsageError(fmt::format("--{} is {}, it must be {}", flag, value, expected));
}

int64_t IntFrom(const ParsedFlags& flags, std::string_view name, int64_t least) {
  const int64_t value = flags.Int(name);
  if (value < least) OutOfRange(name, std::to_string(value), least == 1 ? "above 0" : "0 or above");
  return value;
}

// Of rows and batches; products of two such counts must fit.
int64_t CountFrom(const ParsedFlags& flags, std::string_view name) {
  const int64_t value = IntFrom(flags, name, 1);
  if (value > INT32_MAX) OutOfRange(name, std::to_string(value), "at most 2147483647");
  return value;
}

double FloatIn(const ParsedFlags& flags, std::string_view name, bool (*good)(double),
               const char* expected) {
  const double value = flags.Float(name);
  if (!good(value)) OutOfRange(name, io::PythonFloat(value), expected);
  return value;
}

bool NotNegative(double x) { return x >= 0; }
bool Positive(double x) { return x > 0; }
bool BelowOne(double x) { return x >= 0 && x < 1; }
bool UpToOne(double x) { return x >= 0 && x <= 1; }

// `~` is the home folder, as the reference expands it.
std::filesystem::path ExpandHome(const std::string& path) {
  const char* const home = std::getenv("HOME");
  if (home == nullptr || (path != "~" && !path.starts_with("~/"))) return path;
  return home + path.substr(1);
}

std::optional<std::filesystem::path> OptionalPath(const ParsedFlags& flags, std::string_view name) {
  const auto value = flags.OptionalString(name);
  if (!value) return std::nullopt;
  return ExpandHome(*value);
}

std::optional<int64_t> RowLimit(const ParsedFlags& flags, std::string_view name) {
  const auto limit = flags.OptionalInt(name);
  if (limit && *limit < 1) OutOfRange(name, std::to_string(*limit), "above 0");
  return limit;
}

train::Interval ParseInterval(const std::string& word) {
  if (word == "no") return train::Interval::kNo;
  return word == "epoch" ? train::Interval::kEpoch : train::Interval::kSteps;
}

void CheckUse(const ParsedFlags& flags, Log& log) {
  for (const Flag& flag : flags.table()) {
    if (!flags.given(flag.name) || !flags.changed(flag.name)) continue;
    if (flag.use == FlagUse::kRefused) {
      throw UsageError(fmt::format("--{} cannot be used: {}", flag.name, flag.help),
                       fmt::format("leave out --{}", flag.name));
    }
    if (flag.use == FlagUse::kIgnored) {
      log.Warning(fmt::format("--{} changes nothing: {}", flag.name, flag.help));
    }
  }
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
  model.ignore_mismatched_sizes = flags.Bool("ignore_mismatched_sizes");
  model.init_from_scratch = flags.Bool("init_from_scratch");
  return model;
}

void CheckTaskName(const std::string& task) {
  if (data::IsGlueTask(task)) return;
  const std::string nearest = data::Nearest(task, data::GlueTaskNames());
  throw UsageError(
      fmt::format("--task_name '{}' is none of {}", task, fmt::join(data::GlueTaskNames(), ", ")),
      nearest.empty() ? "for own data give --train_file and --validation_file instead"
                      : fmt::format("did you mean --task_name {}?", nearest));
}

void CheckFiles(const GlueArguments& arguments) {
  const data::OwnFiles& files = arguments.data.files;
  // The labels come from the training file, so an evaluation needs it too.
  for (const auto& [name, file] :
       {std::pair("train_file", &files.train), std::pair("validation_file", &files.validation)}) {
    if (!file->has_value()) {
      throw UsageError(fmt::format("--{} is missing", name),
                       "give --train_file and --validation_file (the training file names the "
                       "labels), or --task_name with --data_dir");
    }
  }
  if (arguments.do_predict && !files.test) {
    throw UsageError("--test_file is missing", "--do_predict needs the file to predict");
  }
}

void FillData(const ParsedFlags& flags, GlueArguments* arguments) {
  DataSource& data = arguments->data;
  data.task_name = flags.String("task_name");
  for (char& c : data.task_name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  data.data_dir = OptionalPath(flags, "data_dir");
  data.files = {OptionalPath(flags, "train_file"), OptionalPath(flags, "validation_file"),
                OptionalPath(flags, "test_file")};
  if (!data.task_name.empty()) {
    CheckTaskName(data.task_name);
  } else {
    if (data.data_dir) {
      throw UsageError("--data_dir needs --task_name",
                       "add the GLUE task, for example --task_name mrpc");
    }
    CheckFiles(*arguments);
  }
  data.max_seq_length =
      static_cast<int>(std::min<int64_t>(IntFrom(flags, "max_seq_length", 1), int64_t{1} << 30));
  data.overwrite_cache = flags.Bool("overwrite_cache");
  data.splits.train = arguments->do_train;
  data.splits.evaluation = arguments->do_eval;
  data.splits.prediction = arguments->do_predict;
  data.splits.max_train = RowLimit(flags, "max_train_samples");
  data.splits.max_evaluation = RowLimit(flags, "max_eval_samples");
  data.splits.max_prediction = RowLimit(flags, "max_predict_samples");
}

train::OptimizerOptions MakeOptimizer(const ParsedFlags& flags) {
  train::OptimizerOptions optimizer;
  optimizer.learning_rate = FloatIn(flags, "learning_rate", NotNegative, "0 or above");
  optimizer.weight_decay = FloatIn(flags, "weight_decay", NotNegative, "0 or above");
  optimizer.beta1 = FloatIn(flags, "adam_beta1", BelowOne, "0 or above and below 1");
  optimizer.beta2 = FloatIn(flags, "adam_beta2", BelowOne, "0 or above and below 1");
  optimizer.epsilon = FloatIn(flags, "adam_epsilon", Positive, "above 0");
  optimizer.max_grad_norm = flags.Float("max_grad_norm");
  return optimizer;
}

void ReadScheduleArguments(const std::string& text, train::ScheduleOptions* schedule) {
  const auto arguments =
      io::ParseJson(text, "the value of --lr_scheduler_kwargs", io::kConfigLimits);
  for (const auto& [key, value] : arguments.items()) {
    double* const target = key == "num_cycles" ? &schedule->num_cycles
                           : key == "power"    ? &schedule->power
                           : key == "lr_end"   ? &schedule->lr_end
                                               : nullptr;
    if (target == nullptr) {
      throw UsageError(fmt::format("--lr_scheduler_kwargs: unknown key \"{}\"", key),
                       "num_cycles, power and lr_end are known");
    }
    if (!value.is_number() || value.get<double>() < 0) {
      throw UsageError(
          fmt::format("--lr_scheduler_kwargs: \"{}\" must be a number, 0 or above", key));
    }
    *target = value.get<double>();
  }
}

train::ScheduleOptions MakeSchedule(const ParsedFlags& flags) {
  using train::ScheduleType;
  train::ScheduleOptions schedule;
  const std::string type = flags.String("lr_scheduler_type");
  for (const auto& [name, value] :
       {std::pair("linear", ScheduleType::kLinear), std::pair("cosine", ScheduleType::kCosine),
        std::pair("cosine_with_restarts", ScheduleType::kCosineWithRestarts),
        std::pair("polynomial", ScheduleType::kPolynomial),
        std::pair("constant", ScheduleType::kConstant),
        std::pair("constant_with_warmup", ScheduleType::kConstantWithWarmup),
        std::pair("inverse_sqrt", ScheduleType::kInverseSqrt)}) {
    if (type == name) schedule.type = value;
  }
  schedule.warmup_ratio = FloatIn(flags, "warmup_ratio", UpToOne, "from 0 to 1");
  const double warmup_steps = FloatIn(flags, "warmup_steps", NotNegative, "0 or above");
  if (warmup_steps > 0 && warmup_steps < 1) {
    schedule.warmup_ratio = warmup_steps;
  } else {
    schedule.warmup_steps = static_cast<int64_t>(std::ceil(warmup_steps));
  }
  if (const auto text = flags.OptionalString("lr_scheduler_kwargs")) {
    ReadScheduleArguments(*text, &schedule);
  }
  const double rate = flags.Float("learning_rate");
  if (schedule.type == ScheduleType::kPolynomial && rate <= schedule.lr_end) {
    throw UsageError(fmt::format("--learning_rate {} is not above the polynomial schedule's end {}",
                                 io::PythonFloat(rate), io::PythonFloat(schedule.lr_end)));
  }
  return schedule;
}

// save_steps must be a multiple of eval_steps so that every checkpoint has been evaluated.
void CheckBestModel(const train::TrainOptions& options) {
  if (options.evaluation.strategy == train::Interval::kNo ||
      options.evaluation.strategy != options.save.strategy) {
    throw UsageError("--load_best_model_at_end needs the same --eval_strategy and --save_strategy",
                     "add --eval_strategy epoch --save_strategy epoch");
  }
  if (options.save.strategy != train::Interval::kSteps) return;
  const double ratio = options.save.steps / options.evaluation.steps;
  if (std::abs(ratio - std::round(ratio)) > 1e-6 || ratio < 0.5 ||
      (options.save.steps < 1) != (options.evaluation.steps < 1)) {
    throw UsageError(
        fmt::format("--load_best_model_at_end needs --save_steps ({}) to be a multiple "
                    "of --eval_steps ({})",
                    options.save.steps, options.evaluation.steps));
  }
}

void FillIntervals(const ParsedFlags& flags, train::TrainOptions* options) {
  using train::Interval;
  options->logging.strategy = ParseInterval(flags.String("logging_strategy"));
  options->logging.steps = flags.Float("logging_steps");
  if (options->logging.strategy == Interval::kSteps && options->logging.steps <= 0) {
    throw UsageError("--logging_steps must be above 0",
                     "--logging_strategy no switches logging off");
  }
  options->logging.first_step = flags.Bool("logging_first_step");
  options->logging.nan_inf_filter = flags.Bool("logging_nan_inf_filter");

  options->evaluation.strategy = ParseInterval(flags.String("eval_strategy"));
  options->evaluation.steps = flags.OptionalFloat("eval_steps").value_or(options->logging.steps);
  options->evaluation.delay = flags.Float("eval_delay");
  if (options->evaluation.strategy == Interval::kSteps && options->evaluation.steps <= 0) {
    OutOfRange("eval_steps", io::PythonFloat(options->evaluation.steps), "above 0");
  }

  options->save.strategy = ParseInterval(flags.String("save_strategy"));
  options->save.steps = flags.Float("save_steps");
  if (options->save.strategy == Interval::kSteps && options->save.steps <= 0) {
    OutOfRange("save_steps", io::PythonFloat(options->save.steps), "above 0");
  }
  if (const auto limit = flags.OptionalInt("save_total_limit"); limit && *limit > 0) {
    options->save.total_limit = static_cast<int>(std::min<int64_t>(*limit, 1 << 30));
  }
  options->save.only_model = flags.Bool("save_only_model");

  options->best.load_at_end = flags.Bool("load_best_model_at_end");
  options->best.metric = flags.String("metric_for_best_model");
  if (options->best.load_at_end && options->best.metric.empty()) options->best.metric = "loss";
  const bool is_loss = options->best.metric == "loss" || options->best.metric == "eval_loss";
  options->best.greater_is_better = flags.OptionalBool("greater_is_better").value_or(!is_loss);
  if (options->best.load_at_end) CheckBestModel(*options);
}

train::TrainOptions MakeTrainOptions(const ParsedFlags& flags) {
  train::TrainOptions options;
  options.train_batch_size = CountFrom(flags, "per_device_train_batch_size");
  options.eval_batch_size = CountFrom(flags, "per_device_eval_batch_size");
  if (flags.given("per_gpu_train_batch_size")) {
    options.train_batch_size = CountFrom(flags, "per_gpu_train_batch_size");
  }
  if (flags.given("per_gpu_eval_batch_size")) {
    options.eval_batch_size = CountFrom(flags, "per_gpu_eval_batch_size");
  }
  options.accumulation = CountFrom(flags, "gradient_accumulation_steps");
  options.num_train_epochs = FloatIn(flags, "num_train_epochs", NotNegative, "0 or above");
  options.max_steps = flags.Int("max_steps");
  if (options.max_steps <= 0 && options.num_train_epochs == 0) {
    OutOfRange("num_train_epochs", "0", "above 0");
  }
  options.drop_last = flags.Bool("dataloader_drop_last");
  options.group_by_length =
      flags.Bool("group_by_length") || flags.String("train_sampling_strategy") == "group_by_length";
  options.seed = static_cast<uint64_t>(IntFrom(flags, "seed", 0));
  if (flags.given("data_seed"))
    options.data_seed = static_cast<uint64_t>(IntFrom(flags, "data_seed", 0));
  options.ignore_data_skip = flags.Bool("ignore_data_skip");
  options.optimizer = MakeOptimizer(flags);
  options.schedule = MakeSchedule(flags);
  FillIntervals(flags, &options);
  return options;
}

OutputFolder MakeOutputFolder(const ParsedFlags& flags) {
  if (!flags.given("output_dir")) {
    throw UsageError("--output_dir is missing", "name the folder that will hold the model");
  }
  OutputFolder output;
  output.path = ExpandHome(flags.String("output_dir"));
  output.overwrite = flags.Bool("overwrite_output_dir");
  output.no_resume = flags.Bool("no_resume");
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

GlueArguments MakeGlueArguments(const ParsedFlags& flags, Log& log) {
  CheckUse(flags, log);
  GlueArguments arguments;
  arguments.train = MakeTrainOptions(flags);
  arguments.do_train = flags.Bool("do_train");
  arguments.do_eval =
      flags.Bool("do_eval") || arguments.train.evaluation.strategy != train::Interval::kNo;
  arguments.do_predict = flags.Bool("do_predict");
  arguments.model = MakeModelSource(flags);
  arguments.output = MakeOutputFolder(flags);
  arguments.train.output_dir = arguments.output.path;
  if (!arguments.do_train && !arguments.do_eval && !arguments.do_predict) {
    throw UsageError("there is nothing to do", "add --do_train, --do_eval or --do_predict");
  }
  FillData(flags, &arguments);
  arguments.presentation = MakePresentation(flags);
  arguments.bf16 = flags.Bool("bf16");
  arguments.bf16_full_eval = flags.Bool("bf16_full_eval");
  arguments.label_smoothing = static_cast<float>(
      FloatIn(flags, "label_smoothing_factor", BelowOne, "0 or above and below 1"));
  arguments.isa = flags.String("isa");
  arguments.threads = static_cast<int>(std::min<int64_t>(IntFrom(flags, "threads", 0), 1 << 20));
  arguments.all_arguments = io::DumpPython(flags.ToJson(), 2, false) + "\n";
  return arguments;
}

void CheckSingleProcess(const std::function<const char*(const char*)>& environment) {
  for (const char* name :
       {"WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE"}) {
    const char* const text = environment(name);
    if (text == nullptr) continue;
    int processes = 0;
    const std::string_view view(text);
    const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), processes);
    if (error != std::errc() || processes <= 1) continue;
    throw Error(fmt::format("a launcher started {} processes ({}), but training on several "
                            "processes comes later",
                            processes, name),
                "start hagane once, without a launcher: it uses all cores of the machine");
  }
}

}  // namespace hagane::cli
