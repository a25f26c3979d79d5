// `hagane run_qa`: the answer to a question as a span of its context.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/run_arguments.h"
#include "cli/task.h"
#include "data/qa_answers.h"
#include "data/qa_windows.h"
#include "data/squad.h"

namespace hagane::cli {

// The flags that run_qa has for itself.
struct QaOptions {
  std::string dataset_name;  // empty: own files
  int doc_stride = 128;
  data::QaAnswerOptions answers;
};
// Checks that the files the run needs are named, and that an evaluation has the metric by which
// the best model is chosen. Throws a usage Error.
QaOptions MakeQaOptions(const ParsedFlags& flags, const RunArguments& run);

class QaTask : public Task {
 public:
  QaTask(QaOptions options, DataSource source, std::string cache_dir)
      : options_(std::move(options)),
        source_(std::move(source)),
        cache_dir_(std::move(cache_dir)) {}

  std::string command() const override { return "run_qa"; }
  std::string auto_class() const override { return "AutoModelForQuestionAnswering"; }
  void ReadData(const io::ModelConfig& config, std::optional<int64_t> sample, Log& log) override;
  std::string data_name() const override;
  void Tokenise(const TokeniseJob& job) override;
  nn::ModelOptions model_options() const override;
  void AddToConfig(nlohmann::ordered_json* config) const override;
  train::EvaluationMetrics metrics(const RunContext& ctx) override;
  std::vector<std::filesystem::path> WriteEvaluation(
      size_t i, const std::filesystem::path& folder,
      const train::EvaluationResult& result) override;
  std::vector<std::filesystem::path> WritePrediction(
      size_t i, const std::filesystem::path& folder,
      const train::EvaluationResult& result) override;
  bool reports_predictions() const override { return true; }

 private:
  struct Split {
    std::optional<int64_t> max;  // examples, and then windows
    data::QaDataset questions;
    double share = 1;
    data::QaWindows windows;
    data::QaAnswers answers;  // of the last evaluation
  };

  Split ReadSplit(const std::filesystem::path& file, const data::QaReadOptions& options,
                  std::optional<int64_t> sample, Log& log) const;
  TaskSplit MakeWindows(const TokeniseJob& job, bool labels, Split* split) const;
  train::Metrics Judge(const RunContext& ctx, const data::Features& features,
                       std::span<const float> logits);
  std::vector<std::filesystem::path> WriteAnswers(const Split& split, const std::string& prefix,
                                                  const std::filesystem::path& folder) const;

  const QaOptions options_;
  DataSource source_;
  const std::string cache_dir_;
  std::optional<Split> train_questions_, evaluation_questions_, prediction_questions_;
};

}  // namespace hagane::cli
