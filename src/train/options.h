// What one training run is asked to do: the part of Hugging Face's TrainingArguments that the loop
// reads, parsed and validated (cli/ does both).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "comm/group.h"
#include "io/run_origin.h"

namespace hagane::train {

enum class Interval { kNo, kSteps, kEpoch };

enum class ScheduleType {
  kLinear,
  kCosine,
  kCosineWithRestarts,
  kPolynomial,
  kConstant,
  kConstantWithWarmup,
  kInverseSqrt,
};

struct ScheduleOptions {
  ScheduleType type = ScheduleType::kLinear;
  int64_t warmup_steps = 0;   // > 0 wins over the ratio
  double warmup_ratio = 0.0;  // ceil(ratio * max_steps)
  // lr_scheduler_kwargs
  double num_cycles = -1;  // < 0: the type's default (cosine 0.5, with restarts 1)
  double power = 1.0;      // polynomial
  double lr_end = 1e-7;    // polynomial
};

struct OptimizerOptions {
  double learning_rate = 5e-5;
  double weight_decay = 0.0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double max_grad_norm = 1.0;  // <= 0: no clipping
};

// Steps below 1 are a fraction of the run's updates, rounded up; 1 and above are update counts.
struct LoggingOptions {
  Interval strategy = Interval::kSteps;
  double steps = 500;
  bool first_step = false;
  bool nan_inf_filter = true;
};

struct EvaluationOptions {
  Interval strategy = Interval::kNo;
  double steps = 500;
  double delay = 0;  // no evaluation before that update / epoch
};

struct SaveOptions {
  Interval strategy = Interval::kSteps;
  double steps = 500;
  std::optional<int> total_limit;
  bool only_model = false;    // no optimiser state: cannot be resumed from exactly
  bool in_background = true;  // from a copy of the state, while training goes on
};

struct BestModelOptions {
  bool load_at_end = false;
  std::string metric = "loss";  // "eval_" is put in front where missing
  bool greater_is_better = false;
};

// What to do about an update whose loss or gradient is NaN or infinite. Neither applies it.
enum class NanPolicy {
  kStop,  // save the state before it and throw an Error that names step, tensor and rows
  kSkip,  // go on without it: weights and moments stay, the schedule and the order move on
};

struct TrainOptions {
  std::filesystem::path output_dir;
  int64_t train_batch_size = 8;  // per process
  int64_t eval_batch_size = 8;
  int64_t accumulation = 1;
  bool batch_asked = false;             // the two above are a person's choice, not defaults
  std::optional<int64_t> global_batch;  // see GlobalBatch
  comm::WireType grad_wire = comm::WireType::kFloat32;  // between processes
  std::optional<comm::Patience> patience;               // in an update; absent: by the time of one
  double num_train_epochs = 3.0;
  int64_t max_steps = -1;  // > 0 wins
  bool drop_last = false;
  bool group_by_length = false;
  uint64_t seed = 42;
  std::optional<uint64_t> data_seed;  // sample order; absent: seed
  bool ignore_data_skip = false;
  NanPolicy nan_policy = NanPolicy::kStop;
  std::optional<std::filesystem::path> resume_from;  // a checkpoint folder
  bool resume_despite_changes = false;               // of the schedule
  io::RunOrigin origin;                              // into every checkpoint

  // Samples of an update over all `processes`, and the share of each where none is given.
  int64_t GlobalBatch(int processes) const {
    return global_batch.value_or(BatchPerProcess() * processes);
  }
  int64_t BatchPerProcess() const { return train_batch_size * accumulation; }

  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  LoggingOptions logging;
  EvaluationOptions evaluation;
  SaveOptions save;
  BestModelOptions best;
};

}  // namespace hagane::train
