// Everything a training run says while it runs: the reference's blocks and dict lines, and
// progress.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/console.h"
#include "cli/metrics_format.h"
#include "cli/progress.h"
#include "train/observer.h"
#include "train/options.h"

namespace hagane::cli {

// A log entry as the reference's console shows it: loss to 4 decimals, epoch to 2, the rest
// unrounded.
std::string LogLine(const train::LogEntry& entry);

class RunReporter : public train::TrainObserver {
 public:
  struct Options {
    train::EvaluationOptions evaluation;
    int64_t evaluation_rows = 0;  // of one evaluation during training
    bool progress = true;         // --disable_tqdm: false
    std::function<bool()> stop_requested;
    std::function<double()> now;  // seconds, for evaluations; empty: the steady clock
  };

  RunReporter(Console* console, Options options);

  void OnTrainBegin(const train::TrainPlan& plan) override;
  void OnStep(const train::StepReport& report) override;
  void OnLog(const train::LogEntry& entry) override;
  void OnEvaluationBegin(const train::EvaluationReport& report) override;
  void OnEvaluationProgress(int64_t done, int64_t examples) override;
  void OnEvaluationEnd() override;
  void OnMessage(const std::string& line) override;
  void OnWarning(const std::string& line) override;
  void OnTrainEnd() override;
  bool StopRequested() override;

  // Seconds until training ends, evaluations included, judged after `step` updates.
  double SecondsLeft(int64_t step) const;

 private:
  int64_t EvaluationsLeft(int64_t step) const;
  void Show(double share, const std::string& text);

  Console* console_;
  Options options_;
  train::TrainPlan plan_;
  RateWindow rates_;
  int64_t step_ = 0;
  double since_shown_ = 0;  // seconds of updates since the last line
  double evaluation_begin_ = 0;
  double evaluation_shown_ = 0;     // when its last line was shown
  double evaluation_seconds_ = -1;  // of the last one; < 0: none yet
  std::string what_;                // "Evaluation" or "Prediction"
  bool training_ = false;
};

}  // namespace hagane::cli
