// What a command that fine-tunes brings to FineTuningRun: where its rows come from, what the
// model's outputs mean, how they are judged and written. The run calls the members in this order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/run_context.h"
#include "cli/console.h"
#include "data/features.h"
#include "io/model_folder.h"
#include "nn/model.h"
#include "text/tokenizer.h"
#include "train/trainer.h"

namespace hagane::cli {

struct TokeniseJob {
  const RunContext& ctx;
  const text::Tokenizer& tokenizer;
  int max_length;
  bool overwrite_cache;
  std::optional<std::filesystem::path> cache_folder;
  // Shows how far the work called `what` is; empty without a progress bar.
  std::function<void(const std::string& what, int64_t done, int64_t of)> progress;
  Log& log;
};

// Tokenised rows. The task owns the features.
struct TaskSplit {
  const data::Features* features = nullptr;
  double share = 1;    // of the split's rows that are in `features`: less than all in a sample
  std::string suffix;  // of its metrics' names: "_mm" of mnli's second evaluation
};

class Task {
 public:
  virtual ~Task() = default;

  virtual std::string command() const = 0;     // "run_glue"
  virtual std::string auto_class() const = 0;  // of transformers, for the saved folder

  // Reads the files of the splits that are asked for; with `sample` only so many rows of each are
  // kept in the end. `config` is the model's.
  virtual void ReadData(const io::ModelConfig& config, std::optional<int64_t> sample, Log& log) = 0;
  virtual std::string data_name() const = 0;  // for the model card: "GLUE mrpc", "train.csv"
  // Fills the splits below.
  virtual void Tokenise(const TokeniseJob& job) = 0;

  const std::optional<TaskSplit>& train() const { return train_; }
  const std::vector<TaskSplit>& evaluation() const { return evaluation_; }
  const std::vector<TaskSplit>& prediction() const { return prediction_; }

  // The head: problem, outputs and what else is the task's; the run fills in the rest.
  virtual nn::ModelOptions model_options() const = 0;
  // What the saved config.json says about the task.
  virtual void AddToConfig(nlohmann::ordered_json* config) const = 0;
  // How any of the splits is judged. `ctx` and the task must outlive what is returned.
  virtual train::EvaluationMetrics metrics(const RunContext& ctx) = 0;

  // Write what split `i` of evaluation() or prediction() gives besides its metrics into `folder`,
  // and return the files.
  virtual std::vector<std::filesystem::path> WriteEvaluation(size_t i,
                                                             const std::filesystem::path& folder,
                                                             const train::EvaluationResult& result);
  virtual std::vector<std::filesystem::path> WritePrediction(
      size_t i, const std::filesystem::path& folder, const train::EvaluationResult& result) = 0;
  // A prediction has a metrics block and predict_results.json too.
  virtual bool reports_predictions() const { return false; }

 protected:
  std::optional<TaskSplit> train_;
  std::vector<TaskSplit> evaluation_, prediction_;
};

inline std::vector<std::filesystem::path> Task::WriteEvaluation(size_t,
                                                                const std::filesystem::path&,
                                                                const train::EvaluationResult&) {
  return {};
}

}  // namespace hagane::cli
