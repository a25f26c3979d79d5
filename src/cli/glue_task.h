// `hagane run_glue`: classes, numbers or several labels for a text or a pair of texts.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/run_arguments.h"
#include "cli/task.h"
#include "data/text_dataset.h"

namespace hagane::cli {

// The flags that run_glue has for itself.
struct GlueOptions {
  std::string task_name;  // in lower case; empty: own files
  std::optional<std::filesystem::path> data_dir;
  float label_smoothing = 0;
  bool ignore_mismatched_sizes = false;
};
// Checks that the files the run needs are named. Throws a usage Error.
GlueOptions MakeGlueOptions(const ParsedFlags& flags, const RunArguments& run);

class GlueTask : public Task {
 public:
  GlueTask(GlueOptions options, DataSource source)
      : options_(std::move(options)), source_(std::move(source)) {}

  std::string command() const override { return "run_glue"; }
  std::string auto_class() const override { return "AutoModelForSequenceClassification"; }
  void ReadData(const io::ModelConfig& config, std::optional<int64_t> sample, Log& log) override;
  std::string data_name() const override;
  void Tokenise(const TokeniseJob& job) override;
  nn::ModelOptions model_options() const override;
  void AddToConfig(nlohmann::ordered_json* config) const override;
  train::EvaluationMetrics metrics(const RunContext& ctx) override;
  std::vector<std::filesystem::path> WritePrediction(
      size_t i, const std::filesystem::path& folder,
      const train::EvaluationResult& result) override;

 private:
  struct Split {
    data::TextSplit texts;
    double share = 1;
    data::Features features;
  };

  TaskSplit TokeniseSplit(const TokeniseJob& job, Split* split) const;

  const GlueOptions options_;
  const DataSource source_;
  data::LabelSpec labels_;
  std::optional<Split> train_rows_;
  std::vector<Split> evaluation_rows_, prediction_rows_;
};

}  // namespace hagane::cli
