// The training loop and evaluation of spec 3.2 - 3.6 on one process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/run_context.h"
#include "data/features.h"
#include "data/metrics.h"
#include "nn/model.h"
#include "train/observer.h"
#include "train/options.h"

namespace hagane::train {

using Metrics = std::vector<std::pair<std::string, double>>;

struct TrainResult {
  int64_t steps = 0;
  double epoch = 0;
  bool interrupted = false;    // StopRequested: a checkpoint is saved, nothing else was done
  double train_loss = 0;       // mean over updates
  double runtime_seconds = 0;
  double samples_per_second = 0, steps_per_second = 0;
  double total_flos = 0;       // the reference's count: 6 x tokens x non-embedding parameters
  int64_t examples_seen = 0, tokens_seen = 0;  // in this process's run
  double useful_flops = 0;
  std::string best_checkpoint; // empty: none
};

struct EvaluationResult {
  Metrics metrics;             // "eval_loss", "eval_accuracy" ..., runtime and speed
  std::vector<float> logits;   // [rows, outputs]
  double loss = 0;             // NaN without labels
};

// Writes what a checkpoint or the final folder holds besides weights: config.json, tokenizer files.
using SaveModelFiles = std::function<void(const std::filesystem::path& folder)>;

class Trainer {
 public:
  // All references must outlive the trainer. `eval` may be null when evaluation.strategy is kNo.
  Trainer(const RunContext& ctx, const TrainOptions& options, nn::Model* model,
          const data::Features* train, const data::Features* eval, data::MetricSet metric_set,
          SaveModelFiles save_model_files, TrainObserver* observer);

  // Runs (or resumes) training; on return the model holds the final (or best) weights and
  // output_dir/trainer_state.json is written.
  TrainResult Train();

  // Loss and metrics with `prefix` ("eval") and the reference's speed keys.
  EvaluationResult Evaluate(const data::Features& features, const std::string& prefix);
  // Logits only.
  EvaluationResult Predict(const data::Features& features);

  // Weights, config and tokenizer files into options.output_dir.
  void SaveModel();
  // output_dir/trainer_state.json.
  void SaveState();
  // Adds a final-evaluation entry to log_history (the reference does, before SaveState).
  void AddLog(const LogEntry& entry);

 private:
  struct State;
  EvaluationResult RunEvaluation(const data::Features& features, const std::string& prefix,
                                 const std::string& what);

  const RunContext& ctx_;
  TrainOptions options_;
  nn::Model* model_;
  const data::Features* train_;
  const data::Features* eval_;
  data::MetricSet metric_set_;
  SaveModelFiles save_model_files_;
  TrainObserver* observer_;
  std::shared_ptr<State> state_;
};

}  // namespace hagane::train
