// One run of `hagane run_glue`, in the order of its steps: sources, data, weights, training,
// evaluation, prediction.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/run_context.h"
#include "cli/console.h"
#include "cli/glue_arguments.h"
#include "cli/metrics_format.h"
#include "cli/run_reporter.h"
#include "cli/stop_signals.h"
#include "data/features.h"
#include "io/model_folder.h"
#include "nn/model.h"
#include "text/tokenizer.h"
#include "train/trainer.h"

namespace hagane::cli {

class GlueRun {
 public:
  // `ctx` and `console` must outlive the run. `peak_gflops`: measured, fp32, all threads.
  GlueRun(const GlueArguments& arguments, const RunContext& ctx, double peak_gflops,
          Console* console);
  ~GlueRun();

  // Returns the exit code.
  int Run();

 private:
  void OpenSources();
  void ReadTexts();
  void MatchLabels();
  void Tokenise();
  void LoadWeights();
  void SayPlan();
  int DryRun();

  // false: interrupted.
  bool Train();
  bool Evaluate();
  bool Predict();
  void Finish();
  int ExitInterrupted() const;

  data::Features TokeniseSplit(const data::TextSplit& split);
  void SaveModelFiles(const std::filesystem::path& folder) const;
  // `train` may be null.
  std::unique_ptr<train::Trainer> MakeTrainer(nn::Model* model, const data::Features* train);
  nn::ModelOptions ModelOptionsOf(bool bf16) const;
  // The trainer for evaluation and prediction; with --bf16_full_eval its model is a bf16 one.
  train::Trainer* Evaluator();
  double ForwardFlopsPerRow(const data::Features& features) const;
  double EstimatedSeconds() const;
  void Say(const std::string& line) const { console_->Info(line); }

  const GlueArguments& arguments_;
  const RunContext& ctx_;
  const double peak_gflops_;
  Console* console_;
  train::TrainOptions options_;

  std::filesystem::path model_folder_, tokenizer_folder_;
  std::unique_ptr<io::ModelConfig> config_;
  nn::EncoderConfig encoder_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  int max_length_ = 0;

  data::TextDataset texts_;
  data::Features train_;
  std::vector<data::Features> evaluation_, prediction_;

  nn::LoadReport load_report_;
  std::unique_ptr<nn::Model> model_, bf16_model_;
  std::unique_ptr<StopSignals> signals_;
  std::unique_ptr<RunReporter> reporter_;
  std::unique_ptr<train::Trainer> trainer_, bf16_trainer_;

  train::TrainResult trained_;
  NamedMetrics train_metrics_, eval_metrics_;
  std::vector<std::filesystem::path> prediction_files_;
};

}  // namespace hagane::cli
