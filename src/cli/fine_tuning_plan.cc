// What a run will take: its plan in one line, and --dry_run's estimate.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/fine_tuning_run.h"
#include "cli/memory_plan.h"
#include "data/packing.h"

namespace hagane::cli {

namespace {

constexpr double kExpectedShareOfPeak = 0.6;

int64_t Rows(const std::vector<TaskSplit>& splits) {
  int64_t rows = 0;
  for (const TaskSplit& split : splits) rows += split.features->rows();
  return rows;
}

// Of the whole split.
double WholeRows(const TaskSplit& split) {
  return static_cast<double>(split.features->rows()) / split.share;
}

}  // namespace

double FineTuningRun::ForwardFlopsPerRow(const data::Features& features) const {
  constexpr int64_t kSample = 256;
  const int64_t rows = std::min(features.rows(), kSample);
  if (rows == 0) return 0;
  std::vector<int64_t> sample(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) sample[static_cast<size_t>(i)] = i * features.rows() / rows;
  PackedBatch batch;
  data::PackRows(features, sample, 0, {}, &batch);
  return model_->ForwardFlops(batch) / static_cast<double>(rows);
}

double FineTuningRun::EstimatedSeconds() const {
  double flops = 0;
  if (const auto& train = task_->train()) {
    const int64_t batch = options_.GlobalBatch(group_->size());
    const double rows = options_.max_steps > 0 ? static_cast<double>(options_.max_steps * batch)
                                               : WholeRows(*train) * options_.num_train_epochs;
    flops += 3 * rows * ForwardFlopsPerRow(*train->features);
  }
  for (const auto* splits : {&task_->evaluation(), &task_->prediction()}) {
    for (const TaskSplit& split : *splits) {
      flops += WholeRows(split) * ForwardFlopsPerRow(*split.features);
    }
  }
  return flops / (peak_gflops_ * group_->size() * 1e9 * kExpectedShareOfPeak);
}

void FineTuningRun::SayPlan() {
  // Before any rank goes on and takes of it.
  const MemoryLimit limit = FindMemoryLimit("/", group_->local_size());
  MemoryNeed need = NeedOfHost(group_, EstimateMemory(*model_, *task_, options_));
  if (need.saving > 0 && need.more() > limit.free) {
    options_.save.in_background = false;
    need.saving = 0;
    Say("memory: too little for a copy to save from, so training waits while a checkpoint is "
        "written");
  }
  std::string plan = "plan:";
  if (task_->train()) {
    trainer_ = MakeTrainer(model_.get(), task_->train()->features);
    const train::TrainPlan numbers = trainer_->Plan();
    plan += fmt::format(" {} updates of {} rows,", WithCommas(numbers.max_steps),
                        numbers.total_batch_size);
  }
  if (!task_->evaluation().empty())
    plan += fmt::format(" {} rows to evaluate,", WithCommas(Rows(task_->evaluation())));
  if (!task_->prediction().empty())
    plan += fmt::format(" {} rows to predict,", WithCommas(Rows(task_->prediction())));
  Say(fmt::format("{} about {} at {:.0f} % of peak", plan, FormatDuration(EstimatedSeconds()),
                  100 * kExpectedShareOfPeak));
  if (arguments_.memory_check) CheckMemory(need, limit, *model_, *task_, options_);
  Say(fmt::format("memory: needs {}", DescribeMemory(need, limit)));
}

void FineTuningRun::DryRun() {
  const MemoryLimit limit = FindMemoryLimit("/", group_->local_size());
  const MemoryNeed need = NeedOfHost(group_, EstimateMemory(*model_, *task_, options_));
  const double seconds = EstimatedSeconds();
  Say(fmt::format("dry run: memory {}, time about {}", DescribeMemory(need, limit),
                  FormatDuration(seconds)));
  if (arguments_.presentation.json) {
    nlohmann::ordered_json json;
    json["dry_run"] = true;
    json["parameters"] = model_->parameters().count();
    json["memory_bytes"] = need.total();
    json["estimated_seconds"] = seconds;
    console_->Json(json.dump(2));
  }
}

}  // namespace hagane::cli
