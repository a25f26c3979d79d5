// The loop on a small model and made-up rows.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/nn/small_models.h"
#include "train/trainer.h"

namespace hagane::train {

// Rows of lengths 3..9; the label is decided by the first token.
inline data::Features SmallFeatures(int64_t rows, uint32_t seed = 3) {
  data::Features features;
  features.row_start.push_back(0);
  features.has_labels = true;
  std::mt19937 engine(seed);
  for (int64_t row = 0; row < rows; ++row) {
    const auto length = static_cast<int>(3 + engine() % 7);
    for (int t = 0; t < length; ++t) {
      features.ids.push_back(static_cast<int32_t>(2 + engine() % 48));
    }
    features.class_labels.push_back(features.ids[features.ids.size() - length] < 26 ? 0 : 1);
    features.row_start.push_back(static_cast<int64_t>(features.ids.size()));
  }
  features.segments.assign(features.ids.size(), 0);
  return features;
}

// Records what it is told; stops after `stop_after` updates.
struct Recorder : TrainObserver {
  std::vector<StepReport> steps;
  std::vector<LogEntry> logs;
  std::vector<std::string> messages, warnings;
  TrainPlan plan;
  int64_t stop_after = -1;
  void OnTrainBegin(const TrainPlan& p) override { plan = p; }
  std::function<void(int64_t step)> on_step;

  void OnStep(const StepReport& report) override {
    steps.push_back(report);
    if (on_step) on_step(report.step);
  }
  void OnLog(const LogEntry& entry) override { logs.push_back(entry); }
  void OnWarning(const std::string& line) override { warnings.push_back(line); }
  void OnMessage(const std::string& line) override { messages.push_back(line); }
  bool StopRequested() override {
    return stop_after >= 0 && static_cast<int64_t>(steps.size()) >= stop_after;
  }
};

class TrainerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        ("trainer_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    options_.output_dir = folder_;
    options_.train_batch_size = 2;
    options_.optimizer.learning_rate = 1e-3;
    options_.save.strategy = Interval::kNo;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  TrainResult Run(const data::Features& features, Recorder* recorder,
                  const data::Features* eval = nullptr) {
    ctx_ = nn::TestContext();
    model_ = nn::SmallModel(ctx_, "bert", nn::ModelOptions{});
    Trainer trainer(ctx_, &group_, options_, model_.get(), &features, eval,
                    LabelMetrics(data::MetricSet::kAccuracy), save_model_files_, recorder);
    const TrainResult result = trainer.Train();
    if (after_training_) after_training_(&trainer);
    trainer.SaveState();
    return result;
  }
  std::vector<float> Weights() const {
    return {model_->parameters().values(),
            model_->parameters().values() + model_->parameters().flat_size()};
  }

  RunContext ctx_;
  comm::Group group_;
  TrainOptions options_;
  std::function<void(Trainer*)> after_training_;
  SaveModelFiles save_model_files_ = [](const std::filesystem::path&) {};
  std::filesystem::path folder_;
  std::unique_ptr<nn::Model> model_;
};

}  // namespace hagane::train
