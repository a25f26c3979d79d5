// Updates whose loss or gradient is not finite: one row's label is NaN.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "data/sampler.h"
#include "io/checkpoint.h"
#include "tests/io/faulty_files.h"
#include "tests/nn/small_models.h"
#include "train/trainer.h"

namespace hagane::train {
namespace {

constexpr int64_t kRows = 12;
constexpr int64_t kBadRow = 5;

struct Recorder : TrainObserver {
  std::vector<std::string> warnings;
  void OnWarning(const std::string& line) override { warnings.push_back(line); }
};

class NanPolicyTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("nan_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    options_.output_dir = folder_;
    options_.train_batch_size = 1;
    options_.accumulation = 2;
    options_.num_train_epochs = 2;
    options_.save.strategy = Interval::kNo;
    const std::vector<int64_t> order = data::EpochOrder(kRows, options_.seed, 0);
    bad_update_ = 1 + (std::find(order.begin(), order.end(), kBadRow) - order.begin()) / 2;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static data::Features Rows() {
    data::Features features;
    features.problem = ProblemType::kRegression;
    features.outputs = 1;
    features.has_labels = true;
    features.row_start.push_back(0);
    for (int64_t row = 0; row < kRows; ++row) {
      for (int32_t t = 0; t < 4; ++t)
        features.ids.push_back(2 + (7 * t + static_cast<int32_t>(row)) % 48);
      features.row_start.push_back(features.tokens());
      features.float_labels.push_back(row == kBadRow ? std::numeric_limits<float>::quiet_NaN()
                                                     : 0.1f * static_cast<float>(row));
    }
    features.segments.assign(features.ids.size(), 0);
    return features;
  }

  TrainResult Train(const data::Features& features) {
    ctx_ = nn::TestContext();
    nn::ModelOptions model_options;
    model_options.problem = ProblemType::kRegression;
    model_options.outputs = 1;
    model_ = nn::SmallModel(ctx_, "bert", model_options);
    if (!broken_weight_.empty()) {
      const nn::Parameter* const parameter = model_->parameters().Find(broken_weight_);
      model_->parameters().values()[parameter->offset] = INFINITY;
    }
    Trainer trainer(
        ctx_, &group_, options_, model_.get(), &features, nullptr,
        LabelMetrics(data::MetricSet::kMse), [](const std::filesystem::path&) {}, &recorder_);
    return trainer.Train();
  }
  // What the run says as it fails.
  std::string Failure(const data::Features& features) {
    try {
      Train(features);
    } catch (const Error& error) {
      return error.what() + std::string("; ") + error.hint();
    }
    return "";
  }
  bool WeightsAreFinite() const {
    const nn::ParameterSet& parameters = model_->parameters();
    return std::all_of(parameters.values(), parameters.values() + parameters.flat_size(),
                       [](float x) { return std::isfinite(x); });
  }

  RunContext ctx_;
  comm::Group group_;
  TrainOptions options_;
  std::filesystem::path folder_;
  std::unique_ptr<nn::Model> model_;
  Recorder recorder_;
  int64_t bad_update_ = 0;
  std::string broken_weight_;
};

TEST_F(NanPolicyTest, StopNamesStepTensorAndRow) {
  const std::string failure = Failure(Rows());
  EXPECT_NE(failure.find("update " + std::to_string(bad_update_) + ":"), std::string::npos)
      << failure;
  EXPECT_NE(failure.find("the gradient of classifier."), std::string::npos) << failure;
  EXPECT_NE(failure.find("row 5 of the training data"), std::string::npos) << failure;
}

TEST_F(NanPolicyTest, StopSavesTheStateBeforeTheUpdate) {
  ASSERT_GT(bad_update_, 1);
  Failure(Rows());
  NullLog log;
  const auto saved = io::NewestWholeCheckpoint(folder_, log);
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->step, bad_update_ - 1);
  EXPECT_TRUE(WeightsAreFinite());
  // What was saved is what the model holds: the bad update changed nothing.
  const std::vector<float> kept(model_->parameters().values(),
                                model_->parameters().values() + model_->parameters().flat_size());
  nn::ReloadWeights(saved->path, model_.get());
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), model_->parameters().values()));
}

// A full disk.
struct NoRoom : io::UnsyncedFiles {
  int64_t FreeBytes(const char*) override { return 0; }
};

TEST_F(NanPolicyTest, StopIsExplainedEvenWhereTheStateCannotBeSaved) {
  NoRoom files;
  const io::ScopedFileSystem scope(&files);
  const std::string failure = Failure(Rows());
  EXPECT_NE(failure.find("row 5 of the training data"), std::string::npos) << failure;
  EXPECT_NE(failure.find("could not be saved"), std::string::npos) << failure;
  EXPECT_TRUE(io::ListCheckpoints(folder_).empty());
}

TEST_F(NanPolicyTest, SkipLeavesOutThoseUpdatesOnly) {
  options_.nan_policy = NanPolicy::kSkip;
  const TrainResult result = Train(Rows());
  EXPECT_EQ(result.steps, 12);
  EXPECT_EQ(result.skipped_updates, 2);
  EXPECT_EQ(recorder_.warnings.size(), 2u);
  EXPECT_TRUE(WeightsAreFinite());
  EXPECT_TRUE(std::isfinite(result.train_loss));
}

TEST_F(NanPolicyTest, FiniteRunsAreTheSameUnderBothPolicies) {
  data::Features rows = Rows();
  rows.float_labels[kBadRow] = 0.5f;
  Train(rows);
  const std::vector<float> stop(model_->parameters().values(),
                                model_->parameters().values() + model_->parameters().flat_size());
  options_.nan_policy = NanPolicy::kSkip;
  EXPECT_EQ(Train(rows).skipped_updates, 0);
  EXPECT_TRUE(std::equal(stop.begin(), stop.end(), model_->parameters().values()));
}

TEST_F(NanPolicyTest, AnInfiniteWeightIsNamedAndNoRowBlamed) {
  broken_weight_ = "bert.encoder.layer.0.output.dense.bias";
  data::Features rows = Rows();
  rows.float_labels[kBadRow] = 0.5f;
  const std::string failure = Failure(rows);
  EXPECT_NE(failure.find("the weight " + broken_weight_), std::string::npos) << failure;
  EXPECT_NE(failure.find("each of the 2 rows"), std::string::npos) << failure;
  EXPECT_TRUE(io::ListCheckpoints(folder_).empty());
}

// Attention over one token, and texts that are empty but for the special tokens.
TEST_F(NanPolicyTest, Bf16OfTheShortestSequencesIsFinite) {
  for (const ProblemType problem : {ProblemType::kSingleLabel, ProblemType::kSpan}) {
    for (const char* family : {"bert", "distilbert", "roberta", "electra"}) {
      ctx_ = nn::TestContext();
      nn::ModelOptions model_options;
      model_options.problem = problem;
      model_options.bf16 = true;
      const auto model = nn::SmallModel(ctx_, family, model_options);
      model->parameters().ZeroGrads(ctx_);
      const double loss = model->ForwardBackward(nn::SmallBatch(*model, {1, 2, 1, 17}),
                                                 {1, 1, true}, 1.0, {}, nullptr);
      EXPECT_TRUE(std::isfinite(loss)) << family;
      const float* const grads = model->parameters().grads();
      EXPECT_TRUE(std::all_of(grads, grads + model->parameters().flat_size(), [](float x) {
        return std::isfinite(x);
      })) << family;
    }
  }
}

}  // namespace
}  // namespace hagane::train
