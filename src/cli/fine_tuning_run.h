// One run of a command that fine-tunes, in the order of its steps: sources, data, weights,
// training, evaluation, prediction. What depends on the task is asked of the Task.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/run_context.h"
#include "cli/console.h"
#include "cli/metrics_format.h"
#include "cli/output_folder.h"
#include "cli/run_arguments.h"
#include "cli/run_reporter.h"
#include "cli/task.h"
#include "comm/group.h"
#include "io/model_folder.h"
#include "nn/model.h"
#include "text/tokenizer.h"
#include "train/trainer.h"

namespace hagane::cli {

class FineTuningRun {
 public:
  // All must outlive the run. `peak_gflops`: measured, all threads of this process. In a group
  // every rank makes the same run; rank 0 has the folder, and writes.
  FineTuningRun(const RunArguments& arguments, Task* task, const RunContext& ctx,
                comm::Group* group, double peak_gflops, Console* console);
  ~FineTuningRun();

  // Returns the exit code.
  int Run();

 private:
  // Throw data::Interrupted when the run is asked to stop, as the steps below do.
  void RunSteps();
  // Saves what has not been saved and says what the next run will find.
  void SayInterrupted();

  // fine_tuning_run.cc: everything before the plan.
  void OpenSources();
  void Tokenise();
  // Runs `body` on all ranks; where one of them was asked to stop, all throw data::Interrupted.
  void Together(const char* what, const std::function<void()>& body);
  // Where training starts, and what a later start will be compared with.
  void FindStart();
  // Rows of an update of a run that is resumed; says where they are not what the flags make.
  int64_t BatchToGoOnWith() const;
  nn::ModelOptions ModelOptionsOf(bool bf16) const;
  std::string ArchitectureName() const;
  void LoadWeights();

  // fine_tuning_plan.cc: what the run will take.
  double ForwardFlopsPerRow(const data::Features& features) const;
  double EstimatedSeconds() const;
  void SayPlan();
  void DryRun();

  // fine_tuning_steps.cc.
  void Train();
  void Evaluate();
  void Predict();
  void SaveModelFiles(const std::filesystem::path& folder) const;
  // `train` may be null.
  std::unique_ptr<train::Trainer> MakeTrainer(nn::Model* model, const data::Features* train);
  // The trainer for evaluation and prediction; with --bf16_full_eval its model is a bf16 one.
  train::Trainer* Evaluator();
  void AddFiles(const std::vector<std::filesystem::path>& written);

  // fine_tuning_finish.cc: model card, --json, the closing lines.
  void Finish();
  void WriteModelCard() const;
  void PrintJson() const;
  double UsefulGflops() const;

  void Say(const std::string& line) const { console_->Info(line); }

  std::unique_ptr<RunFolder> folder_;  // first: released when all else is done
  const RunArguments& arguments_;
  Task* task_;
  const RunContext& ctx_;
  comm::Group* group_;
  const double peak_gflops_;
  Console* console_;
  train::TrainOptions options_;

  std::filesystem::path model_folder_, tokenizer_folder_;
  std::unique_ptr<io::ModelConfig> config_;
  nn::EncoderConfig encoder_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  int max_length_ = 0;

  nn::LoadReport load_report_;
  std::unique_ptr<nn::Model> model_, bf16_model_;
  std::unique_ptr<RunReporter> reporter_;
  std::unique_ptr<train::Trainer> trainer_, bf16_trainer_;

  train::TrainResult trained_;
  NamedMetrics train_metrics_, eval_metrics_, predict_metrics_;
  std::vector<std::filesystem::path> prediction_files_;
};

}  // namespace hagane::cli
