#include "train/trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/sampler.h"
#include "io/checkpoint.h"
#include "train/background_save.h"
#include "train/checkpoint.h"
#include "train/not_finite.h"
#include "train/optimizer.h"
#include "train/progress.h"
#include "train/schedule.h"

namespace hagane::train {

namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Updates that the waiting for other ranks is measured by.
constexpr size_t kPaceSteps = 100;

// Finding the rows behind an update that is not finite takes longer than the update.
constexpr int64_t kSkipsExplained = 5;

// A count of updates, or a fraction of the run when below 1.
int64_t IntervalSteps(double steps, int64_t max_steps) {
  if (steps < 1)
    return std::max<int64_t>(
        1, static_cast<int64_t>(std::ceil(steps * static_cast<double>(max_steps))));
  return static_cast<int64_t>(steps);
}

bool Due(Interval strategy, double steps, int64_t step, int64_t max_steps, bool epoch_end) {
  switch (strategy) {
    case Interval::kNo:
      return false;
    case Interval::kEpoch:
      return epoch_end;
    case Interval::kSteps:
      return !epoch_end && step % IntervalSteps(steps, max_steps) == 0;
  }
  return false;
}

// As transformers counts for total_flos: without the embedding tables.
int64_t NonEmbeddingCount(const nn::ParameterSet& parameters) {
  int64_t count = 0;
  for (const nn::Parameter& parameter : parameters.list()) {
    const bool table = parameter.name.find("_embeddings.weight") != std::string::npos;
    if (!table) count += parameter.size;
  }
  return count;
}

data::PositionRule RuleOf(const nn::EncoderConfig& config) {
  return {config.position_offset, config.positions_count_from_pad ? config.pad_token_id : -1};
}

int64_t MicroBatchRows(const TrainPlan& plan) {
  return (plan.total_batch_size + plan.accumulation - 1) / plan.accumulation;
}

// The table whose gradient travels by rows: of the word embedding only the rows that were used
// have one.
comm::RowTable WordEmbedding(const nn::ParameterSet& parameters) {
  for (const nn::Parameter& parameter : parameters.list()) {
    if (parameter.name.ends_with("word_embeddings.weight")) {
      return {parameter.offset, parameter.shape[0], parameter.shape[1]};
    }
  }
  return {};
}

}  // namespace

Trainer::Trainer(const RunContext& ctx, comm::Group* group, const TrainOptions& options,
                 nn::Model* model, const data::Features* train, const data::Features* eval,
                 EvaluationMetrics metrics, SaveModelFiles save_model_files,
                 TrainObserver* observer)
    : ctx_(ctx),
      group_(group),
      options_(options),
      model_(model),
      train_(train),
      eval_(eval),
      metrics_(std::move(metrics)),
      save_model_files_(std::move(save_model_files)),
      observer_(observer),
      position_rule_(RuleOf(model->config())),
      background_save_(std::make_unique<BackgroundSave>()) {}

Trainer::~Trainer() = default;

TrainPlan Trainer::Plan() const {
  TrainPlan plan;
  plan.examples = train_->rows();
  plan.batch_size = options_.train_batch_size;
  plan.accumulation = options_.accumulation;
  plan.total_batch_size = options_.GlobalBatch(group_->size());
  // Of one micro-batch on all ranks together.
  const int64_t rows = MicroBatchRows(plan);
  const int64_t batches =
      options_.drop_last ? plan.examples / rows : (plan.examples + rows - 1) / rows;
  if (batches == 0) {
    throw Error(fmt::format("{} training rows make no batch of {}", plan.examples, rows),
                options_.drop_last ? "lower --per_device_train_batch_size or leave out "
                                     "--dataloader_drop_last"
                                   : "give a training file with rows");
  }
  // A global batch need not be a multiple of the accumulation.
  const int64_t used = options_.drop_last ? batches * rows : plan.examples;
  plan.updates_per_epoch = (used + plan.total_batch_size - 1) / plan.total_batch_size;
  if (options_.max_steps > 0) {
    plan.max_steps = options_.max_steps;
    plan.num_epochs = (plan.max_steps + plan.updates_per_epoch - 1) / plan.updates_per_epoch;
  } else {
    plan.max_steps = static_cast<int64_t>(
        std::ceil(options_.num_train_epochs * static_cast<double>(plan.updates_per_epoch)));
    plan.num_epochs = static_cast<int64_t>(std::ceil(options_.num_train_epochs));
  }
  plan.parameters = model_->parameters().count();
  return plan;
}

std::vector<int64_t> Trainer::OrderOfEpoch(int64_t epoch) const {
  const uint64_t seed = options_.data_seed.value_or(options_.seed);
  std::vector<int64_t> order =
      options_.group_by_length
          ? data::EpochOrderByLength(*train_, seed, epoch, options_.GlobalBatch(group_->size()))
          : data::EpochOrder(train_->rows(), seed, epoch);
  if (options_.drop_last) {
    const auto rows = static_cast<size_t>(MicroBatchRows(Plan()));
    order.resize(order.size() / rows * rows);
  }
  return order;
}

void Trainer::Resume(Progress* progress) {
  TrainPlan& plan = progress->plan;
  LoadedState loaded;
  const bool exact = ReadCheckpoint(*options_.resume_from, model_, optimizer_.get(), &loaded);
  const int64_t global_batch = plan.total_batch_size;
  const uint64_t data_seed = options_.data_seed.value_or(options_.seed);
  if (loaded.has_hagane_part &&
      (loaded.state.global_batch != global_batch || loaded.state.seed != options_.seed ||
       loaded.state.data_seed != data_seed)) {
    throw Error(
        fmt::format("{} was written with seed {}, data seed {} and {} samples an update, this run "
                    "asks for {}, {} and {}",
                    options_.resume_from->string(), loaded.state.seed, loaded.state.data_seed,
                    loaded.state.global_batch, options_.seed, data_seed, global_batch),
        fmt::format("repeat the flags of the first run (--global_train_batch_size {} keeps its "
                    "updates on any number of processes), or start afresh in another --output_dir",
                    loaded.state.global_batch));
  }
  if (!options_.resume_despite_changes) {
    CheckSchedule(*options_.resume_from, options_, plan.max_steps);
  }
  if (!exact) {
    observer_->OnMessage(
        fmt::format("{} holds no optimizer state of this program: the moments start at zero",
                    options_.resume_from->string()));
  }
  state_ = std::move(loaded.state);
  if (!state_.best_model_checkpoint.empty()) {
    // The folder may have been moved or copied since.
    const auto here =
        options_.output_dir / std::filesystem::path(state_.best_model_checkpoint).filename();
    if (std::filesystem::exists(here)) state_.best_model_checkpoint = here.string();
    if (std::filesystem::exists(state_.best_model_checkpoint)) RememberBest();
  }
  last_saved_ = *options_.resume_from;
  saved_step_ = state_.global_step;
  plan.first_step = state_.global_step;
  progress->first_epoch = state_.global_step / plan.updates_per_epoch;
  if (!options_.ignore_data_skip) {
    progress->first_update = state_.global_step % plan.updates_per_epoch;
  }
  plan.resumed_epoch = static_cast<double>(progress->first_epoch);
}

double Trainer::MicroBatch(const Samples& share, size_t begin, size_t count, double scale,
                           const nn::Model::GradientReady& ready, StepReport* report) {
  PackedBatch batch;
  data::PackRows(*train_, std::span(share.rows).subspan(begin, count),
                 std::span(share.samples).subspan(begin, count), position_rule_, &batch);
  report->tokens += batch.tokens();
  report->flops += 3.0 * model_->ForwardFlops(batch);
  // Keyed by update and sample, so that masks depend neither on ranks nor on accumulation.
  const auto step = static_cast<uint32_t>(state_.global_step);
  return model_->ForwardBackward(batch, {options_.seed, step, true}, scale, {}, ready);
}

void Trainer::RefuseUpdate(std::span<const int64_t> rows, int64_t first, double loss, double norm,
                           Progress* progress) {
  const bool skip = options_.nan_policy == NanPolicy::kSkip;
  if (skip && ++progress->skipped_updates > kSkipsExplained) {
    model_->parameters().ZeroGrads(ctx_);
    return;
  }
  const std::string tensor = FirstNotFinite(model_->parameters());
  // Each row once more by itself; its dropout does not depend on its neighbours.
  const double scale = 1.0 / static_cast<double>(model_->LossTerms(std::ssize(rows)));
  const Samples share = MyShare(rows, first);
  std::vector<int64_t> bad = RowsNotFinite(share.rows, [&](size_t i) {
    model_->parameters().ZeroGrads(ctx_);
    StepReport ignored;
    const double alone = MicroBatch(share, i, 1, scale, nullptr, &ignored);
    return std::isfinite(alone) && std::isfinite(optimizer_->GradientNorm());
  });
  bad = OfAllRanks(bad, rows);
  model_->parameters().ZeroGrads(ctx_);
  const std::string what = fmt::format(
      "update {}: the loss is {} and the gradient norm {}; the first to be so is {}, because of {}",
      state_.global_step + 1, loss, norm, tensor, DescribeRows(bad, rows.size()));
  if (skip) {
    const bool last = progress->skipped_updates == kSkipsExplained;
    observer_->OnWarning(what + "; this update is left out" +
                         (last ? "; more of them will only be counted" : ""));
    return;
  }
  std::string state = "look at the weights the run started from;";
  if (state_.global_step > 0) {
    state = "the state before it is saved;";
    FinishSave();
    try {
      if (saved_step_ != state_.global_step) SaveNow(state_, SavedOptimizer());
    } catch (const std::exception& error) {
      state = fmt::format("the state before it could not be saved ({});", error.what());
    }
  }
  group_->Barrier("rank 0 to save", comm::kWhileAlive);
  throw Error(
      what, fmt::format("{} lower --learning_rate, correct the rows, or pass --nan_policy skip to "
                        "leave such updates out",
                        state));
}

StepReport Trainer::Update(std::span<const int64_t> rows, int64_t first, Progress* progress) {
  const auto start = Clock::now();
  const auto update_rows = static_cast<int64_t>(rows.size());
  const double terms = static_cast<double>(model_->LossTerms(update_rows));
  StepReport report;
  const Samples share = MyShare(rows, first);
  const auto mine = share.rows.size();
  const auto batch_size = static_cast<size_t>(options_.train_batch_size);
  comm::Patience patience;
  std::string what;
  if (!group_->alone()) {
    patience = StepPatience();
    what = fmt::format("the gradients of update {}", state_.global_step + 1);
    reducer_->Begin(TokensOf(share.rows), what, patience);
  }
  double loss_sum = 0;
  for (size_t begin = 0; begin < mine; begin += batch_size) {
    const size_t count = std::min(batch_size, mine - begin);
    nn::Model::GradientReady ready;
    // Only the last micro-batch makes gradients final.
    if (begin + count == mine) ready = [&](int64_t from, int64_t) { reducer_->Ready(from); };
    loss_sum += MicroBatch(share, begin, count, 1.0 / terms, ready, &report);
  }
  reducer_->Finish();
  if (!group_->alone()) {
    const auto sums = group_->Sum({loss_sum, static_cast<double>(report.tokens), report.flops,
                                   observer_->StopRequested() ? 1.0 : 0.0},
                                  what, patience);
    loss_sum = sums[0];
    report.tokens = static_cast<int64_t>(sums[1]);
    report.flops = sums[2];
    stop_agreed_ = sums[3] > 0;
  }
  progress->learning_rate =
      options_.optimizer.learning_rate * ScheduleFactor(options_.schedule, state_.global_step,
                                                        progress->plan.max_steps,
                                                        options_.optimizer.learning_rate);
  progress->grad_norm = optimizer_->GradientNorm();
  if (std::isfinite(loss_sum) && std::isfinite(progress->grad_norm)) {
    optimizer_->Step(progress->learning_rate, progress->grad_norm);
  } else {
    RefuseUpdate(rows, first, loss_sum / terms, progress->grad_norm, progress);
  }
  ++state_.global_step;

  report.step = state_.global_step;
  report.loss = loss_sum / terms;
  report.examples = update_rows;
  report.seconds = SecondsSince(start);
  if (!group_->alone()) {
    step_seconds_.push_back(report.seconds);
    if (step_seconds_.size() > kPaceSteps) step_seconds_.pop_front();
  }
  const bool bad = !std::isfinite(report.loss) && options_.logging.nan_inf_filter;
  const double counted =
      bad ? state_.interval_loss / static_cast<double>(1 + state_.interval_steps) : report.loss;
  state_.interval_loss += counted;
  ++state_.interval_steps;
  state_.loss_sum += counted;
  state_.total_flos += 6.0 * static_cast<double>(report.tokens) *
                       static_cast<double>(NonEmbeddingCount(model_->parameters()));
  progress->examples_seen += report.examples;
  progress->tokens_seen += report.tokens;
  progress->useful_flops += report.flops;
  progress->step_seconds += report.seconds;
  progress->logged_this_step = progress->saved_this_step = false;
  return report;
}

void Trainer::LogInterval(Progress* progress) {
  LogEntry entry;
  entry.step = state_.global_step;
  entry.epoch = state_.epoch;
  // float32 widened, as the reference's tensors are.
  const auto loss =
      static_cast<float>(state_.interval_loss / static_cast<double>(state_.interval_steps));
  entry.values.emplace_back("loss", loss);
  entry.values.emplace_back("grad_norm", static_cast<float>(progress->grad_norm));
  // The rate of the next update, as transformers up to 4.50 logs it.
  entry.values.emplace_back(
      "learning_rate",
      options_.optimizer.learning_rate * ScheduleFactor(options_.schedule, state_.global_step,
                                                        progress->plan.max_steps,
                                                        options_.optimizer.learning_rate));
  state_.interval_loss = 0;
  state_.interval_steps = 0;
  progress->logged_this_step = true;
  state_.log_history.push_back(entry);
  observer_->OnLog(entry);
}

std::string Trainer::BestMetricName() const {
  if (!options_.best.load_at_end && options_.best.metric.empty()) return "";
  const std::string& name = options_.best.metric.empty() ? "loss" : options_.best.metric;
  return name.starts_with("eval_") ? name : "eval_" + name;
}

void Trainer::CheckBestMetric() const {
  const std::string name = BestMetricName();
  if (name.empty() || options_.evaluation.strategy == Interval::kNo) return;
  std::vector<std::string> known = metrics_.names;
  for (std::string& metric : known) metric = "eval_" + metric;
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UsageError(fmt::format("--metric_for_best_model: the evaluation gives no {}", name),
                   fmt::format("it gives {}", fmt::join(known, ", ")));
}

void Trainer::UpdateBest(const Metrics& metrics) {
  const std::string name = BestMetricName();
  if (name.empty()) return;
  FinishSave();  // where it fails, an earlier one is the best to compare with
  const auto found =
      std::find_if(metrics.begin(), metrics.end(), [&](const auto& m) { return m.first == name; });
  if (found == metrics.end()) throw Error("the data to evaluate has no labels");
  if (std::isnan(found->second)) return;  // or nothing would ever be better than it
  const bool better = !state_.best_metric ||
                      (options_.best.greater_is_better ? found->second > *state_.best_metric
                                                       : found->second < *state_.best_metric);
  if (!better) return;
  state_.best_metric = found->second;
  state_.best_model_checkpoint =
      io::CheckpointPath(options_.output_dir, state_.global_step).string();
  if (saved_step_ == state_.global_step) RememberBest();
}

bool Trainer::EvaluateInTraining() {
  const EvaluationResult result = Evaluate(*eval_, "eval");
  if (result.interrupted) return false;
  LogEntry entry{state_.global_step, state_.epoch, result.metrics};
  state_.log_history.push_back(entry);
  observer_->OnLog(entry);
  UpdateBest(result.metrics);
  return true;
}

bool Trainer::EvaluationDue(int64_t max_steps, bool epoch_end) const {
  const EvaluationOptions& evaluation = options_.evaluation;
  const double reached = evaluation.strategy == Interval::kEpoch
                             ? state_.epoch
                             : static_cast<double>(state_.global_step);
  return reached >= evaluation.delay &&
         Due(evaluation.strategy, evaluation.steps, state_.global_step, max_steps, epoch_end);
}

// A run that is stopped before or in the evaluation of a step is saved without its result. Left
// out, another checkpoint could come out best than without the stop.
bool Trainer::EvaluateWhatTheStopLeftOut(const TrainPlan& plan) {
  const bool epoch_end =
      state_.global_step % plan.updates_per_epoch == 0 || state_.global_step >= plan.max_steps;
  const bool due =
      EvaluationDue(plan.max_steps, false) || (epoch_end && EvaluationDue(plan.max_steps, true));
  const bool done =
      std::any_of(state_.log_history.begin(), state_.log_history.end(), [&](const LogEntry& entry) {
        return entry.step == state_.global_step && !entry.values.empty() &&
               entry.values.front().first.starts_with("eval_");
      });
  return !due || done || EvaluateInTraining();
}

bool Trainer::AfterUpdate(const StepReport& step, bool epoch_end, Progress* progress) {
  const int64_t max_steps = progress->plan.max_steps;
  const int64_t at = state_.global_step;
  const bool last = at >= max_steps;
  const auto due = [&](Interval strategy, double steps) {
    return Due(strategy, steps, at, max_steps, epoch_end);
  };
  if (!epoch_end) observer_->OnStep(step);
  const bool first_log = options_.logging.first_step && at == 1 && !epoch_end;
  if ((first_log || due(options_.logging.strategy, options_.logging.steps)) &&
      !progress->logged_this_step && state_.interval_steps > 0) {
    LogInterval(progress);
  }
  if (EvaluationDue(max_steps, epoch_end) && !EvaluateInTraining()) return false;
  // Since transformers 4.42 a run with save_strategy steps also saves at its end.
  const bool at_end = last && !epoch_end && options_.save.strategy == Interval::kSteps;
  if ((due(options_.save.strategy, options_.save.steps) || at_end) && !progress->saved_this_step) {
    progress->saved_this_step = true;
    SaveInTraining();
  }
  return true;
}

TrainResult Trainer::Train() {
  const auto start = Clock::now();
  Progress progress;
  progress.plan = Plan();
  TrainPlan& plan = progress.plan;
  CheckBestMetric();
  state_ = TrainerState{};
  optimizer_ = std::make_unique<Optimizer>(ctx_, options_.optimizer, &model_->parameters());
  if (options_.resume_from && group_->leads()) Resume(&progress);
  if (options_.resume_from && !group_->alone()) ShareState(&progress);
  CompareRanks();
  reducer_ = std::make_unique<comm::GradientReducer>(
      ctx_, group_, options_.grad_wire, model_->parameters().grads(),
      model_->parameters().flat_size(), WordEmbedding(model_->parameters()));
  state_.max_steps = plan.max_steps;
  state_.num_train_epochs = plan.num_epochs;
  state_.train_batch_size = options_.train_batch_size;
  state_.logging_steps = IntervalSteps(options_.logging.steps, plan.max_steps);
  state_.eval_steps = IntervalSteps(options_.evaluation.steps, plan.max_steps);
  state_.save_steps = IntervalSteps(options_.save.steps, plan.max_steps);
  state_.seed = options_.seed;
  state_.data_seed = options_.data_seed.value_or(options_.seed);
  state_.global_batch = plan.total_batch_size;
  if (options_.batch_asked || state_.batch_per_process == 0) {
    state_.batch_per_process = options_.BatchPerProcess();
  }
  state_.updates_per_epoch = plan.updates_per_epoch;
  model_->parameters().ZeroGrads(ctx_);
  model_->Reserve(data::LargestBatchTokens(*train_, options_.train_batch_size),
                  std::min(options_.train_batch_size, train_->rows()), true);
  observer_->OnTrainBegin(plan);

  TrainResult result;
  if (plan.first_step > 0) {
    progress.saved_this_step = true;              // the checkpoint that is resumed
    if (group_->leads()) DeleteOldCheckpoints();  // the stop may have come before it deleted them
    result.interrupted = !EvaluateWhatTheStopLeftOut(plan);
  }
  result.interrupted = result.interrupted || StopAgreedInRound(0);
  for (int64_t epoch = progress.first_epoch;
       state_.global_step < plan.max_steps && !result.interrupted; ++epoch) {
    const std::vector<int64_t> order = OrderOfEpoch(epoch);
    const auto rows = static_cast<int64_t>(order.size());
    const int64_t micro_rows = MicroBatchRows(plan);
    const int64_t micro_batches = (rows + micro_rows - 1) / micro_rows;
    int64_t begin = progress.first_update * plan.total_batch_size;
    progress.first_update = 0;
    while (begin < rows && state_.global_step < plan.max_steps) {
      const int64_t end = std::min(rows, begin + plan.total_batch_size);
      StepReport report = Update(
          std::span(order).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
          begin, &progress);
      begin = end;
      const int64_t done = (end + micro_rows - 1) / micro_rows;
      state_.epoch = static_cast<double>(epoch) +
                     static_cast<double>(done) / static_cast<double>(micro_batches);
      report.epoch = state_.epoch;
      // Stopping waits for what the end of an epoch logs: it cannot be made up for.
      const bool epoch_end = begin >= rows || state_.global_step >= plan.max_steps;
      bool go_on = AfterUpdate(report, false, &progress);
      if (epoch_end) go_on = AfterUpdate({}, true, &progress) && go_on;
      FinishSaveIfDone();
      const bool stop = group_->alone() ? observer_->StopRequested() : stop_agreed_;
      result.interrupted = !go_on || stop;
      if (result.interrupted) break;
    }
  }
  observer_->OnTrainEnd();
  FinishSave();
  if (result.interrupted && state_.global_step > plan.first_step) {
    // Without the moments a resumed run would not have the bits of an undisturbed one.
    const bool moments_missing = options_.save.only_model && state_.global_step < plan.max_steps;
    if (saved_step_ != state_.global_step || moments_missing) SaveNow(state_, optimizer_.get());
  }

  result.steps = state_.global_step;
  result.epoch = state_.epoch;
  result.runtime_seconds = SecondsSince(start);
  result.train_loss = state_.loss_sum / static_cast<double>(std::max<int64_t>(1, result.steps));
  const double samples = options_.max_steps > 0
                             ? static_cast<double>(plan.max_steps * plan.total_batch_size)
                             : static_cast<double>(plan.examples) * options_.num_train_epochs;
  result.samples_per_second = samples / result.runtime_seconds;
  result.steps_per_second = static_cast<double>(plan.max_steps) / result.runtime_seconds;
  result.total_flos = state_.total_flos;
  result.examples_seen = progress.examples_seen;
  result.tokens_seen = progress.tokens_seen;
  result.useful_flops = progress.useful_flops;
  result.step_seconds = progress.step_seconds;
  result.reduce = reducer_->times();
  result.skipped_updates = progress.skipped_updates;
  result.best_checkpoint =
      group_->FromLeader(saved_best_.checkpoint, "rank 0 to save", comm::kWhileAlive);
  if (!result.interrupted && options_.best.load_at_end && !result.best_checkpoint.empty()) {
    if (group_->leads()) {
      observer_->OnMessage(fmt::format("Loading best model from {} (score: {}).",
                                       result.best_checkpoint, *saved_best_.metric));
      io::CheckCheckpoint(result.best_checkpoint);
      nn::ReloadWeights(result.best_checkpoint, model_);
    }
    ShareWeights();
  } else if (!result.interrupted && saved_step_ != state_.global_step) {
    unsaved_ = state_;
  }
  return result;
}

void Trainer::AddLog(LogEntry entry) { state_.log_history.push_back(std::move(entry)); }

}  // namespace hagane::train
