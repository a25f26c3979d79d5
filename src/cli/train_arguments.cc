// The part of the arguments that the training loop reads.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/flag_values.h"
#include "cli/run_arguments.h"
#include "io/json.h"

namespace hagane::cli {

namespace {

bool Positive(double x) { return x > 0; }
bool UpToOne(double x) { return x >= 0 && x <= 1; }

train::Interval ParseInterval(const std::string& word) {
  if (word == "no") return train::Interval::kNo;
  return word == "epoch" ? train::Interval::kEpoch : train::Interval::kSteps;
}

train::OptimizerOptions MakeOptimizer(const ParsedFlags& flags) {
  train::OptimizerOptions optimizer;
  optimizer.learning_rate = FloatFromZero(flags, "learning_rate");
  optimizer.weight_decay = FloatFromZero(flags, "weight_decay");
  optimizer.beta1 = FloatBelowOne(flags, "adam_beta1");
  optimizer.beta2 = FloatBelowOne(flags, "adam_beta2");
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
  const double warmup_steps = FloatFromZero(flags, "warmup_steps");
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
  options->save.in_background = flags.Bool("background_save");

  options->best.load_at_end = flags.Bool("load_best_model_at_end");
  options->best.metric = flags.String("metric_for_best_model");
  if (options->best.load_at_end && options->best.metric.empty()) options->best.metric = "loss";
  const bool is_loss = options->best.metric == "loss" || options->best.metric == "eval_loss";
  options->best.greater_is_better = flags.OptionalBool("greater_is_better").value_or(!is_loss);
  if (options->best.load_at_end) CheckBestModel(*options);
}

}  // namespace

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
  for (const char* flag :
       {"per_device_train_batch_size", "per_gpu_train_batch_size", "gradient_accumulation_steps"}) {
    options.batch_asked = options.batch_asked || flags.given(flag);
  }
  if (flags.given("global_train_batch_size")) {
    options.global_batch = CountFrom(flags, "global_train_batch_size");
  }
  if (flags.given("ddp_timeout")) {
    options.patience = comm::Patience{static_cast<double>(IntFrom(flags, "ddp_timeout", 1))};
  }
  const std::string wire = flags.String("grad_wire");
  if (wire == "bf16" || (wire.empty() && flags.Bool("bf16"))) {
    options.grad_wire = comm::WireType::kBf16;
  }
  options.num_train_epochs = FloatFromZero(flags, "num_train_epochs");
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
  if (flags.String("nan_policy") == "skip") options.nan_policy = train::NanPolicy::kSkip;
  options.optimizer = MakeOptimizer(flags);
  options.schedule = MakeSchedule(flags);
  FillIntervals(flags, &options);
  return options;
}

}  // namespace hagane::cli
