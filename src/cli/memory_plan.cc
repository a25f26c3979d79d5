#include "cli/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/console.h"
#include "data/packing.h"
#include "train/background_save.h"

namespace hagane::cli {

namespace {

std::string Bytes(int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }

int64_t ActivationsOf(const nn::Model& model, const data::Features& features, int64_t batch_size,
                      bool training) {
  const int64_t rows = std::min(batch_size, features.rows());
  return static_cast<int64_t>(
      model.ActivationBytes(data::LargestBatchTokens(features, rows), rows, training));
}

// The largest batch of at most `asked` rows whose activations take no more than `bytes`; 0: none.
int64_t LargestBatch(const nn::Model& model, const data::Features& features, int64_t asked,
                     bool training, int64_t bytes) {
  int64_t fits = 0, too_many = std::min(asked, features.rows()) + 1;
  while (too_many - fits > 1) {
    const int64_t middle = fits + (too_many - fits) / 2;
    (ActivationsOf(model, features, middle, training) <= bytes ? fits : too_many) = middle;
  }
  return fits;
}

// The largest divisor of `batch` that is at most `limit`: with more accumulation the update is the
// same.
int64_t LargestDivisor(int64_t batch, int64_t limit) {
  for (int64_t size = limit; size > 1; --size) {
    if (batch % size == 0) return size;
  }
  return 1;
}

}  // namespace

MemoryNeed EstimateMemory(const nn::Model& model, const Task& task,
                          const train::TrainOptions& options) {
  MemoryNeed need;
  need.held = ResidentMemory();
  const auto outputs = static_cast<int64_t>(model.options().outputs);
  if (task.train()) {
    need.optimizer = 2 * static_cast<int64_t>(sizeof(float)) * model.parameters().flat_size();
    need.activations =
        ActivationsOf(model, *task.train()->features, options.train_batch_size, true);
    if (options.save.in_background && options.save.strategy != train::Interval::kNo) {
      need.saving = train::BackgroundSave::CopyBytes(model.parameters(), !options.save.only_model);
    }
  }
  for (const auto* splits : {&task.evaluation(), &task.prediction()}) {
    for (const TaskSplit& split : *splits) {
      const data::Features& features = *split.features;
      need.activations = std::max(need.activations,
                                  ActivationsOf(model, features, options.eval_batch_size, false));
      const bool by_token = model.options().problem == ProblemType::kSpan;
      const int64_t rows = by_token ? features.tokens() : features.rows();
      need.logits = std::max(need.logits, rows * outputs * static_cast<int64_t>(sizeof(float)));
    }
  }
  return need;
}

MemoryNeed NeedOfHost(comm::Group* group, const MemoryNeed& mine) {
  if (group->alone()) return mine;
  std::vector<double> card = {static_cast<double>(mine.held), static_cast<double>(mine.optimizer),
                              static_cast<double>(mine.activations), 0, 0};
  if (group->leads()) {
    // It alone saves, and gathers what the others find.
    card[3] = static_cast<double>(mine.logits);
    card[4] = static_cast<double>(mine.saving);
  }
  const auto fields = card.size();
  const auto node = static_cast<size_t>(group->me().node);
  std::vector<double> of_nodes(fields * static_cast<size_t>(group->nodes()), 0.0);
  std::copy(card.begin(), card.end(), of_nodes.begin() + static_cast<int64_t>(node * fields));
  const std::vector<double> sums = group->Sum(of_nodes, "the memory that all ranks need");
  const auto sum = [&](size_t field) { return static_cast<int64_t>(sums[node * fields + field]); };
  return {group->local_size(), sum(0), sum(1), sum(2), sum(3), sum(4)};
}

std::string DescribeMemory(const MemoryNeed& need, const MemoryLimit& limit) {
  std::string text = Bytes(need.total());
  if (limit.total > 0) text += fmt::format(" of {}", Bytes(limit.total));
  if (need.processes > 1) text += fmt::format(" for {} processes", need.processes);
  text += fmt::format(" (held already {}, optimizer {}, activations {}", Bytes(need.held),
                      Bytes(need.optimizer), Bytes(need.activations));
  if (need.saving > 0) text += fmt::format(", copy to save from {}", Bytes(need.saving));
  return text + ")";
}

void CheckMemory(const MemoryNeed& need, const MemoryLimit& limit, const nn::Model& model,
                 const Task& task, const train::TrainOptions& options) {
  if (need.more() <= limit.free) return;
  const std::string who =
      need.processes == 1
          ? "this run needs"
          : fmt::format("the {} processes of this run on this host need", need.processes);
  const std::string what =
      fmt::format("{} {} more memory, and {} leaves {} of {} free", who, Bytes(need.more()),
                  limit.what, Bytes(limit.free), Bytes(limit.total));
  const int64_t left = (limit.free - (need.more() - need.activations)) / need.processes;
  constexpr const char* kOtherwise =
      "lower --max_seq_length, or take a smaller model or a machine with more memory";
  const auto give_up_below_one = [&](int64_t fits) {
    if (fits < 1) throw Error(what, kOtherwise);
  };
  std::string hint;
  if (task.train()) {
    const data::Features& rows = *task.train()->features;
    const int64_t batch = std::min(options.train_batch_size, rows.rows());
    const int64_t fits = LargestBatch(model, rows, batch, true, left);
    give_up_below_one(fits);
    if (fits < batch) {
      const int64_t size = LargestDivisor(options.train_batch_size, fits);
      hint = fmt::format("--per_device_train_batch_size {} --gradient_accumulation_steps {}", size,
                         options.accumulation * (options.train_batch_size / size));
    }
  }
  int64_t evaluated = options.eval_batch_size;
  for (const auto* splits : {&task.evaluation(), &task.prediction()}) {
    for (const TaskSplit& split : *splits) {
      const int64_t batch = std::min(evaluated, split.features->rows());
      const int64_t fits = LargestBatch(model, *split.features, batch, false, left);
      if (batch > 0) give_up_below_one(fits);
      if (fits < batch) evaluated = fits;
    }
  }
  if (evaluated < options.eval_batch_size) {
    hint += fmt::format("{}--per_device_eval_batch_size {}", hint.empty() ? "" : " ", evaluated);
  }
  throw Error(what, hint + " gives the same result and fits; --no_memory_check goes on as it is");
}

}  // namespace hagane::cli
