// What the loop tells whoever watches: cli/ prints, tests record. Every call is from the thread
// that called Trainer::Train or Evaluate, between kernels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hagane::train {

// The numbers of the "***** Running training *****" block.
struct TrainPlan {
  int64_t examples = 0;
  int64_t num_epochs = 0;  // ceil
  int64_t batch_size = 0, accumulation = 1, total_batch_size = 0;
  int64_t max_steps = 0;
  int64_t updates_per_epoch = 0;
  int64_t parameters = 0;
  int64_t first_step = 0;  // > 0: resumed
  double resumed_epoch = 0;
};

// After each update.
struct StepReport {
  int64_t step = 0;  // finished updates
  double epoch = 0;
  double loss = 0;                   // mean of this update's samples
  int64_t examples = 0, tokens = 0;  // of this update
  double seconds = 0;
  double flops = 0;  // useful, forward and backward
};

// One entry of trainer_state.json's log_history; values are unrounded.
struct LogEntry {
  int64_t step = 0;
  double epoch = 0;
  std::vector<std::pair<std::string, double>> values;  // in the reference's order, without epoch
};

struct EvaluationReport {
  std::string what;  // "Evaluation" or "Prediction"
  int64_t examples = 0, batch_size = 0;
};

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void OnTrainBegin(const TrainPlan&) {}
  virtual void OnStep(const StepReport&) {}
  virtual void OnLog(const LogEntry&) {}
  virtual void OnEvaluationBegin(const EvaluationReport&) {}
  virtual void OnEvaluationProgress(int64_t /*done*/, int64_t /*examples*/) {}
  virtual void OnEvaluationEnd() {}
  // "Saving model checkpoint to D", "Deleting older checkpoint [D] ...", "Loading best model ..."
  virtual void OnMessage(const std::string& /*line*/) {}
  // What a person should look at, though training goes on.
  virtual void OnWarning(const std::string& /*line*/) {}
  virtual void OnTrainEnd() {}
  // Looked at between steps and evaluation batches: true ends the run after saving a checkpoint.
  virtual bool StopRequested() { return false; }
};

}  // namespace hagane::train
