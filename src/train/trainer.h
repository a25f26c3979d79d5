// The training loop and evaluation of the reference's Trainer (docs/DIFFERENCES.md lists where it
// differs), on one process or on a group of them. In a group all ranks make the same calls with the
// same data; rank 0 writes, the others compute their share.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/run_context.h"
#include "comm/gradient_reducer.h"
#include "comm/group.h"
#include "data/features.h"
#include "data/packing.h"
#include "nn/model.h"
#include "train/evaluation_metrics.h"
#include "train/observer.h"
#include "train/options.h"
#include "train/trainer_state.h"

namespace hagane::train {

struct TrainResult {
  int64_t steps = 0;
  double epoch = 0;
  bool interrupted = false;  // StopRequested: the updates, if any, are saved; nothing else was done
  double train_loss = 0;     // mean over updates
  double runtime_seconds = 0;
  double samples_per_second = 0, steps_per_second = 0;
  double total_flos = 0;  // the reference's count: 6 x tokens x non-embedding parameters
  int64_t examples_seen = 0, tokens_seen = 0;  // in this process's run
  double useful_flops = 0;
  double step_seconds = 0;      // in updates alone, without evaluation and saving
  comm::ReduceTimes reduce;     // of the gradients between processes
  std::string best_checkpoint;  // empty: none
  int64_t skipped_updates = 0;  // by NanPolicy::kSkip, in this process's run
};

struct EvaluationResult {
  Metrics metrics;            // "eval_loss", "eval_accuracy" ..., runtime and speed
  std::vector<float> logits;  // [rows, outputs]; answer spans: [tokens, 2]; at rank 0 alone
  double loss = 0;            // NaN without labels
  bool interrupted = false;   // StopRequested: logits or metrics are not complete
};

// Writes what a checkpoint or the final folder holds besides weights: config.json, tokenizer files.
using SaveModelFiles = std::function<void(const std::filesystem::path& folder)>;

class BackgroundSave;
class NewCheckpoint;
class Optimizer;

class Trainer {
 public:
  // All pointers and references must outlive the trainer. `train` may be null when Train is not
  // called, `eval` when evaluation.strategy is kNo.
  Trainer(const RunContext& ctx, comm::Group* group, const TrainOptions& options, nn::Model* model,
          const data::Features* train, const data::Features* eval, EvaluationMetrics metrics,
          SaveModelFiles save_model_files, TrainObserver* observer);
  ~Trainer();

  // What Train will do, without doing it.
  TrainPlan Plan() const;

  // Runs (or resumes) training; on return the model holds the final (or best) weights.
  TrainResult Train();

  // Loss and metrics with `prefix` ("eval") and the reference's speed keys.
  EvaluationResult Evaluate(const data::Features& features, const std::string& prefix);
  // The same as "Prediction", with the prefix "test".
  EvaluationResult Predict(const data::Features& features);

  // Weights, config and tokenizer files into options.output_dir.
  void SaveModel();
  // output_dir/trainer_state.json.
  void SaveState();
  // A checkpoint of the state as Train left it, unless there is one (--save_strategy no): for a run
  // that is stopped after training. Does nothing before Train returned.
  void SaveIfUnsaved();
  // Appends to log_history (the final evaluation and the train metrics are entries too).
  void AddLog(LogEntry entry);

 private:
  struct Progress;  // where the loop stands

  EvaluationResult RunEvaluation(const data::Features& features, const std::string& prefix,
                                 const std::string& what);
  std::vector<int64_t> OrderOfEpoch(int64_t epoch) const;
  void Resume(Progress* progress);
  // ranks.cc: what makes one training of several processes.
  // Throws an Error unless all ranks have the same data, weights and options.
  void CompareRanks();
  // Rank 0's weights, moments and state everywhere.
  void ShareState(Progress* progress);
  void ShareWeights();
  // The rows that any rank names, in the order of `rows`.
  std::vector<int64_t> OfAllRanks(const std::vector<int64_t>& mine,
                                  std::span<const int64_t> rows) const;
  // Rows of an update and where they stand in the epoch's order.
  struct Samples {
    std::vector<int64_t> rows;
    std::vector<uint32_t> samples;
  };
  // This rank's share of an update on `rows` of the epoch's order, starting at `first`.
  Samples MyShare(std::span<const int64_t> rows, int64_t first) const;
  // One update on `rows` of the epoch's order, starting at `first`. Returns its report.
  StepReport Update(std::span<const int64_t> rows, int64_t first, Progress* progress);
  // The loss sum of [begin, begin + count) of `share`; adds the gradients. Adds to report's tokens
  // and flops.
  double MicroBatch(const Samples& share, size_t begin, size_t count, double scale,
                    const nn::Model::GradientReady& ready, StepReport* report);
  // Asks all ranks, not in every round, whether one of them is to stop.
  bool StopAgreedInRound(int64_t round);
  // The logits and loss sums of all ranks' batches, in file order, at rank 0; the loss everywhere.
  void CollectEvaluation(int64_t rows, const std::function<size_t(int64_t row)>& values_before,
                         std::vector<float> logits, std::vector<double> losses,
                         EvaluationResult* result);
  // What rank 0 computes from the logits.
  Metrics LeadersMetrics(const data::Features& features, std::span<const float> logits);
  // All tokens of this rank's rows of an update.
  std::vector<int32_t> TokensOf(std::span<const int64_t> rows) const;
  // How long a rank may keep the others waiting in an update.
  comm::Patience StepPatience() const;
  // An update whose loss or gradient is not finite, by the policy. The gradients are used up.
  void RefuseUpdate(std::span<const int64_t> rows, int64_t first, double loss, double norm,
                    Progress* progress);
  // Log, evaluate, save, in the reference's order, where they are due. False: stop was requested.
  bool AfterUpdate(const StepReport& step, bool epoch_end, Progress* progress);
  void LogInterval(Progress* progress);
  bool EvaluationDue(int64_t max_steps, bool epoch_end) const;
  bool EvaluateInTraining();
  bool EvaluateWhatTheStopLeftOut(const TrainPlan& plan);
  // saving.cc. At most one save is under way; what starts another waits for it.
  // What --save_only_model asks for.
  const Optimizer* SavedOptimizer() const;
  std::unique_ptr<NewCheckpoint> BeginCheckpoint(int64_t step, bool with_optimizer);
  // A save that is due: where it fails, a warning, and training goes on.
  void SaveInTraining();
  // A save that the run ends with, in the foreground. Throws an Error where it fails.
  void SaveNow(const TrainerState& state, const Optimizer* optimizer);
  // Waits for the save under way, if any, and deals with its result.
  void FinishSave();
  void FinishSaveIfDone();
  void Saved(int64_t step);
  void SaveFailed(const std::string& reason);
  // The best checkpoint so far is whole.
  void RememberBest();
  // save_total_limit: what is over it goes; checkpoints of steps that are still to come do not
  // count.
  void DeleteOldCheckpoints();
  // With the prefix; empty: best models are not looked for.
  std::string BestMetricName() const;
  // Before hours of training rather than at the first evaluation.
  void CheckBestMetric() const;
  void UpdateBest(const Metrics& metrics);

  const RunContext& ctx_;
  comm::Group* group_;
  const TrainOptions options_;
  nn::Model* model_;
  const data::Features* train_;
  const data::Features* eval_;
  const EvaluationMetrics metrics_;
  const SaveModelFiles save_model_files_;
  TrainObserver* observer_;
  const data::PositionRule position_rule_;
  TrainerState state_;
  std::optional<TrainerState> unsaved_;  // at the end of training, where no checkpoint holds it
  bool stop_agreed_ = false;             // in a group: a rank was asked to stop, and all know
  std::deque<double> step_seconds_;      // the latest updates, for StepPatience
  std::unique_ptr<Optimizer> optimizer_;
  int64_t saved_step_ = -1;  // of the newest whole checkpoint, and where it is
  std::filesystem::path last_saved_;
  int64_t saving_step_ = -1;  // of the last save that was begun in training
  struct {
    std::optional<double> metric;
    std::string checkpoint;
  } saved_best_;  // the best one that is whole: the state's may still be on its way, or have failed
  std::unique_ptr<comm::GradientReducer> reducer_;
  std::unique_ptr<BackgroundSave> background_save_;  // last: writes what the others hold
};

}  // namespace hagane::train
