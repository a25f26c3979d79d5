// The loop on a small model and made-up rows: counts, order, accumulation, resume, best and last.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "io/checkpoint.h"
#include "tests/nn/small_models.h"
#include "tests/train/trainer_fixture.h"

namespace hagane::train {
namespace {

using nn::SmallModel;
using nn::TestContext;

TEST_F(TrainerTest, AccumulationTailIsAnUpdateOfItsOwn) {
  const data::Features features = SmallFeatures(9);
  options_.accumulation = 2;
  Recorder recorder;
  const TrainResult result = Run(features, &recorder);
  EXPECT_EQ(recorder.plan.updates_per_epoch, 3);
  EXPECT_EQ(result.steps, 9);
  EXPECT_EQ(result.examples_seen, 27);
  EXPECT_EQ(result.epoch, 3.0);
  ASSERT_EQ(recorder.steps.size(), 9u);
  EXPECT_EQ(recorder.steps[0].examples, 4);
  EXPECT_EQ(recorder.steps[2].examples, 1);
}

TEST_F(TrainerTest, AccumulationEqualsOneLargeBatch) {
  const data::Features features = SmallFeatures(16);
  options_.max_steps = 3;
  options_.optimizer.epsilon = 1.0;  // keeps the update proportional to the gradient
  options_.train_batch_size = 8;
  auto without_dropout = [&](int64_t batch, int64_t accumulation) {
    options_.train_batch_size = batch;
    options_.accumulation = accumulation;
    ctx_ = TestContext();
    auto config = nn::SmallConfig("bert");
    config["hidden_dropout_prob"] = 0.0;
    config["attention_probs_dropout_prob"] = 0.0;
    nn::ModelOptions model_options;
    model_options.init_from_scratch = true;
    nn::LoadReport report;
    model_ = nn::LoadModel(ctx_, "", config, "config.json", model_options, &report);
    Recorder recorder;
    Trainer trainer(
        ctx_, &group_, options_, model_.get(), &features, nullptr,
        LabelMetrics(data::MetricSet::kAccuracy), [](const std::filesystem::path&) {}, &recorder);
    trainer.Train();
    return Weights();
  };
  const auto whole = without_dropout(8, 1);
  const auto parts = without_dropout(2, 4);
  for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(whole[i], parts[i], 2e-6) << i;
}

TEST_F(TrainerTest, FractionalEpochsStopInTheMiddle) {
  const data::Features features = SmallFeatures(10);
  options_.num_train_epochs = 1.5;
  Recorder recorder;
  const TrainResult result = Run(features, &recorder);
  EXPECT_EQ(result.steps, 8);  // ceil(1.5 * 5)
  EXPECT_EQ(recorder.plan.num_epochs, 2);
  EXPECT_DOUBLE_EQ(result.epoch, 1.6);
}

TEST_F(TrainerTest, ARunThatEndsInMidEpochLogsEvaluatesAndSavesThereToo) {
  const data::Features features = SmallFeatures(10);
  options_.num_train_epochs = 1.5;
  options_.logging.strategy = options_.evaluation.strategy = options_.save.strategy =
      Interval::kEpoch;
  Recorder recorder;
  Run(features, &recorder, &features);
  ASSERT_EQ(recorder.logs.size(), 4u);  // loss and evaluation, twice
  EXPECT_EQ(recorder.logs[1].step, 5);
  EXPECT_EQ(recorder.logs[3].step, 8);
  EXPECT_EQ(recorder.logs[3].values[0].first, "eval_loss");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "checkpoint-8"));
}

// 10 rows, batch 2: update 5 ends the first epoch. The stop comes with it, before its evaluation.
TEST_F(TrainerTest, ResumeMakesUpForTheEvaluationThatTheStopLeftOut) {
  const data::Features features = SmallFeatures(10);
  options_.num_train_epochs = 2;
  options_.logging.strategy = options_.evaluation.strategy = options_.save.strategy =
      Interval::kEpoch;
  options_.best.load_at_end = true;
  options_.optimizer.learning_rate = 1e-2;  // too high: the first epoch is the best one
  Recorder whole;
  const TrainResult undisturbed = Run(features, &whole, &features);
  ASSERT_EQ(undisturbed.best_checkpoint, (folder_ / "checkpoint-5").string());
  const std::vector<float> expected = Weights();
  std::filesystem::remove_all(folder_);

  Recorder first;
  first.stop_after = 5;
  EXPECT_TRUE(Run(features, &first, &features).interrupted);
  ASSERT_EQ(first.logs.size(), 1u);  // the loss
  options_.resume_from = folder_ / "checkpoint-5";
  Recorder second;
  const TrainResult resumed = Run(features, &second, &features);
  ASSERT_EQ(second.logs.size(), 3u);
  EXPECT_EQ(second.logs[0].step, 5);
  EXPECT_EQ(second.logs[0].values[0], whole.logs[1].values[0]);
  EXPECT_EQ(resumed.best_checkpoint, undisturbed.best_checkpoint);
  EXPECT_EQ(Weights(), expected);

  // What has been evaluated is not evaluated again.
  options_.resume_from = folder_ / "checkpoint-10";
  Recorder third;
  Run(features, &third, &features);
  EXPECT_TRUE(third.logs.empty());
}

TEST_F(TrainerTest, MaxStepsWinAndDropLastLeavesTheTailOut) {
  const data::Features features = SmallFeatures(9);
  options_.max_steps = 6;
  options_.drop_last = true;
  Recorder recorder;
  const TrainResult result = Run(features, &recorder);
  EXPECT_EQ(recorder.plan.updates_per_epoch, 4);
  EXPECT_EQ(result.steps, 6);
  EXPECT_EQ(result.examples_seen, 12);
}

TEST_F(TrainerTest, LossFallsAndEveryIntervalIsLogged) {
  const data::Features features = SmallFeatures(64);
  options_.train_batch_size = 8;
  options_.num_train_epochs = 20;
  options_.optimizer.learning_rate = 5e-3;
  options_.logging.steps = 40;
  options_.logging.first_step = true;
  Recorder recorder;
  const TrainResult result = Run(features, &recorder);
  ASSERT_EQ(recorder.logs.size(), 5u);
  EXPECT_EQ(recorder.logs[0].step, 1);
  EXPECT_EQ(recorder.logs[1].step, 40);
  EXPECT_EQ(recorder.logs[4].values[0].first, "loss");
  EXPECT_EQ(recorder.logs[4].values[1].first, "grad_norm");
  EXPECT_EQ(recorder.logs[4].values[2].first, "learning_rate");
  EXPECT_EQ(recorder.logs[4].values[2].second, 0.0);  // of the update that would follow
  EXPECT_LT(recorder.logs[4].values[0].second, 0.5 * recorder.logs[1].values[0].second);
  EXPECT_GT(result.train_loss, 0.0);
}

// 10 rows, batch 2, 3 epochs, stopped after update 7 of 15.
TEST_F(TrainerTest, ResumeInMidEpochGivesTheSameBits) {
  const data::Features features = SmallFeatures(10);
  options_.logging.steps = 1;
  Recorder whole;
  const TrainResult undisturbed = Run(features, &whole);
  const std::vector<float> expected = Weights();

  Recorder first;
  first.stop_after = 7;
  const TrainResult stopped = Run(features, &first);
  EXPECT_TRUE(stopped.interrupted);
  ASSERT_TRUE(std::filesystem::exists(folder_ / "checkpoint-7" / "model.safetensors"));

  options_.resume_from = folder_ / "checkpoint-7";
  Recorder second;
  const TrainResult resumed = Run(features, &second);
  EXPECT_EQ(second.plan.first_step, 7);
  ASSERT_EQ(second.steps.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(second.steps[i].step, whole.steps[i + 7].step);
    EXPECT_EQ(second.steps[i].loss, whole.steps[i + 7].loss);
    EXPECT_EQ(second.steps[i].epoch, whole.steps[i + 7].epoch);
    EXPECT_EQ(second.logs[i].values, whole.logs[i + 7].values);
  }
  EXPECT_EQ(Weights(), expected);
  EXPECT_EQ(resumed.train_loss, undisturbed.train_loss);
  EXPECT_EQ(ReadTrainerState(folder_).state.log_history.size(), 15u);
}

TEST_F(TrainerTest, AStopSavesTheMomentsEvenWhereCheckpointsAreToHaveNone) {
  const data::Features features = SmallFeatures(10);
  options_.save.only_model = true;
  Recorder whole;
  Run(features, &whole);
  const std::vector<float> expected = Weights();
  // With the stop comes a checkpoint that is due, without moments.
  options_.save.strategy = Interval::kSteps;
  options_.save.steps = 7;
  Recorder first, second;
  first.stop_after = 7;
  after_training_ = [](Trainer* trainer) { trainer->SaveIfUnsaved(); };
  EXPECT_TRUE(Run(features, &first).interrupted);
  options_.resume_from = folder_ / "checkpoint-7";
  Run(features, &second);
  EXPECT_EQ(second.steps.size(), 8u);
  EXPECT_EQ(Weights(), expected);
}

TEST_F(TrainerTest, AStopBeforeTheFirstUpdateLeavesNothing) {
  const data::Features features = SmallFeatures(10);
  Recorder recorder;
  recorder.stop_after = 0;
  const TrainResult result = Run(features, &recorder);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.steps, 0);
  EXPECT_TRUE(io::ListCheckpoints(folder_).empty());
}

TEST_F(TrainerTest, WhatNoCheckpointHoldsAfterTrainingCanStillBeSaved) {
  const data::Features features = SmallFeatures(10);
  options_.logging.steps = 5;
  Recorder first, second;
  after_training_ = [](Trainer* trainer) {
    trainer->AddLog({15, 3, {{"train_runtime", 1}}});
    trainer->SaveIfUnsaved();
    trainer->SaveIfUnsaved();
  };
  Run(features, &first);
  const std::vector<float> expected = Weights();
  EXPECT_EQ(std::count_if(first.messages.begin(), first.messages.end(),
                          [](const auto& line) { return line.starts_with("Saving"); }),
            1);
  after_training_ = {};
  options_.resume_from = folder_ / "checkpoint-15";
  EXPECT_EQ(Run(features, &second).steps, 15);
  EXPECT_TRUE(second.steps.empty());
  EXPECT_EQ(Weights(), expected);
  // What was logged after training will be logged again.
  EXPECT_EQ(ReadTrainerState(folder_).state.log_history.size(), 3u);
}

TEST_F(TrainerTest, ResumeWithAnotherGlobalBatchIsRefused) {
  const data::Features features = SmallFeatures(10);
  Recorder first;
  first.stop_after = 3;
  Run(features, &first);
  options_.resume_from = folder_ / "checkpoint-3";
  options_.train_batch_size = 5;
  Recorder second;
  EXPECT_THROW(Run(features, &second), Error);
}

TEST_F(TrainerTest, ResumeWithAnotherScheduleIsRefusedUnlessToldOtherwise) {
  const data::Features features = SmallFeatures(10);
  Recorder first;
  first.stop_after = 3;
  Run(features, &first);
  options_.resume_from = folder_ / "checkpoint-3";
  options_.optimizer.learning_rate = 2e-3;
  Recorder second;
  try {
    Run(features, &second);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("learning_rate 0.002 instead of 0.001"),
              std::string::npos)
        << error.what();
  }
  options_.resume_despite_changes = true;
  EXPECT_EQ(Run(features, &second).steps, 15);
}

// The names of the checkpoints that are left.
std::vector<std::string> Left(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_F(TrainerTest, AResumedRunMakesUpForTheDeletingThatTheStopLeftOut) {
  const data::Features features = SmallFeatures(10);
  options_.max_steps = 10;
  options_.save.strategy = Interval::kSteps;
  options_.save.steps = 5;
  Recorder first, second;
  Run(features, &first);
  ASSERT_EQ(Left(folder_), (std::vector<std::string>{"checkpoint-10", "checkpoint-5"}));
  options_.save.total_limit = 1;
  options_.resume_from = folder_ / "checkpoint-10";
  Run(features, &second);
  EXPECT_EQ(Left(folder_), std::vector<std::string>{"checkpoint-10"});
}

TEST_F(TrainerTest, ACheckpointAheadOfTheRunIsNotCountedAsTheNewest) {
  const data::Features features = SmallFeatures(10);
  options_.max_steps = 10;
  options_.save.strategy = Interval::kSteps;
  options_.save.steps = 5;
  Recorder first, second;
  Run(features, &first);
  // checkpoint-10 was found to be damaged; what is saved before step 10 must survive beside it.
  options_.save.total_limit = 1;
  options_.resume_from = folder_ / "checkpoint-5";
  second.stop_after = 2;
  EXPECT_TRUE(Run(features, &second).interrupted);
  EXPECT_EQ(Left(folder_), (std::vector<std::string>{"checkpoint-10", "checkpoint-7"}));
}

TEST_F(TrainerTest, BestAndLastCheckpointAreKept) {
  const data::Features features = SmallFeatures(10);
  const data::Features eval = SmallFeatures(40);
  options_.num_train_epochs = 10;
  options_.evaluation.strategy = options_.save.strategy = Interval::kSteps;
  options_.evaluation.steps = options_.save.steps = 10;
  options_.best.load_at_end = true;
  options_.save.total_limit = 1;
  options_.optimizer.learning_rate = 2e-2;  // so that the loss goes up and down
  Recorder recorder;
  const TrainResult result = Run(features, &recorder, &eval);
  double best = 1e9;
  int64_t best_step = 0;
  for (const LogEntry& entry : recorder.logs) {
    ASSERT_EQ(entry.values[0].first, "eval_loss");
    if (entry.values[0].second < best) {
      best = entry.values[0].second;
      best_step = entry.step;
    }
  }
  EXPECT_EQ(recorder.logs.size(), 5u);
  EXPECT_EQ(result.best_checkpoint,
            (folder_ / ("checkpoint-" + std::to_string(best_step))).string());
  std::vector<std::string> kept;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.is_directory()) kept.push_back(entry.path().filename().string());
  }
  std::sort(kept.begin(), kept.end());
  std::vector<std::string> expected = {"checkpoint-50"};
  if (best_step != 50) expected.push_back("checkpoint-" + std::to_string(best_step));
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(kept, expected);
  // The model that is left is the best one.
  const std::vector<float> weights = Weights();
  nn::ReloadWeights(result.best_checkpoint, model_.get());
  EXPECT_EQ(weights, Weights());
}

TEST_F(TrainerTest, UnknownBestMetricStopsBeforeTrainingAndListsTheKnownOnes) {
  const data::Features features = SmallFeatures(10);
  options_.evaluation.strategy = options_.save.strategy = Interval::kEpoch;
  options_.best.load_at_end = true;
  options_.best.metric = "f1";
  Recorder recorder;
  try {
    Run(features, &recorder, &features);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("eval_f1"), std::string::npos);
    EXPECT_NE(error.hint().find("eval_accuracy"), std::string::npos);
    EXPECT_TRUE(recorder.steps.empty());
  }
}

TEST_F(TrainerTest, EvaluationDoesNotDependOnItsBatchSize) {
  const data::Features features = SmallFeatures(37);
  ctx_ = TestContext();
  model_ = SmallModel(ctx_, "bert", nn::ModelOptions{});
  std::vector<EvaluationResult> results;
  for (const int64_t batch : {1, 8, 64}) {
    options_.eval_batch_size = batch;
    Recorder recorder;
    Trainer trainer(
        ctx_, &group_, options_, model_.get(), nullptr, nullptr,
        LabelMetrics(data::MetricSet::kAccuracy), [](const std::filesystem::path&) {}, &recorder);
    results.push_back(trainer.Evaluate(features, "eval"));
    EXPECT_EQ(results.back().metrics[0].first, "eval_loss");
    EXPECT_NEAR(results.back().loss, results[0].loss, 1e-6);
    EXPECT_EQ(results.back().metrics[1], results[0].metrics[1]);
  }
}

TEST_F(TrainerTest, Bf16TrainsAndKeepsFloat32Masters) {
  const data::Features features = SmallFeatures(32);
  ctx_ = TestContext();
  nn::ModelOptions model_options;
  model_options.bf16 = true;
  model_ = SmallModel(ctx_, "bert", model_options);
  options_.train_batch_size = 8;
  options_.num_train_epochs = 20;
  options_.optimizer.learning_rate = 5e-3;
  options_.logging.steps = 20;
  Recorder recorder;
  Trainer trainer(
      ctx_, &group_, options_, model_.get(), &features, nullptr,
      LabelMetrics(data::MetricSet::kAccuracy), [](const std::filesystem::path&) {}, &recorder);
  trainer.Train();
  EXPECT_LT(recorder.logs.back().values[0].second, 0.5 * recorder.logs[0].values[0].second);
  nn::ParameterSet& parameters = model_->parameters();
  int64_t finer = 0;
  for (int64_t i = 0; i < parameters.flat_size(); ++i) {
    EXPECT_EQ(parameters.copies()[i].bits, ToBf16(parameters.values()[i]).bits);
    finer += ToFloat(parameters.copies()[i]) != parameters.values()[i];
  }
  EXPECT_GT(finer, parameters.flat_size() / 2);
}

}  // namespace
}  // namespace hagane::train
