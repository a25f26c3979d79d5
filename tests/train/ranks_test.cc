// The number of processes changes nothing but the time: the same training on 1 to 4 ranks (threads
// of the test, with a model each), to rounding.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "tests/comm/thread_wire.h"
#include "tests/nn/small_models.h"
#include "train/trainer.h"

namespace hagane::train {
namespace {

using nn::SmallModel;
using nn::TestContext;

data::Features SomeRows(int64_t rows, uint32_t seed = 3) {
  data::Features features;
  features.row_start.push_back(0);
  features.has_labels = true;
  std::mt19937 engine(seed);
  for (int64_t row = 0; row < rows; ++row) {
    const auto length = static_cast<size_t>(3 + engine() % 7);
    for (size_t t = 0; t < length; ++t) {
      features.ids.push_back(static_cast<int32_t>(2 + engine() % 48));
    }
    features.class_labels.push_back(features.ids[features.ids.size() - length] < 26 ? 0 : 1);
    features.row_start.push_back(static_cast<int64_t>(features.ids.size()));
  }
  features.segments.assign(features.ids.size(), 0);
  return features;
}

struct Recorder : TrainObserver {
  std::vector<double> losses;
  std::vector<int64_t> tokens;
  int64_t stop_after = -1;
  void OnStep(const StepReport& report) override {
    losses.push_back(report.loss);
    tokens.push_back(report.tokens);
  }
  bool StopRequested() override { return stop_after >= 0 && std::ssize(losses) >= stop_after; }
};

struct Outcome {
  std::vector<double> losses;
  std::vector<int64_t> tokens;
  EvaluationResult evaluation;
  std::vector<float> weights;
  bool interrupted = false;
};

class RanksTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        ("ranks_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    options_.output_dir = folder_;
    options_.train_batch_size = 4;
    options_.eval_batch_size = 3;
    options_.global_batch = 12;
    options_.optimizer.learning_rate = 1e-3;
    options_.save.strategy = Interval::kNo;
    options_.num_train_epochs = 2;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // What rank 0 sees. `stops`: the rank that is asked to stop after three updates, or -1.
  Outcome Run(int ranks, int stops = -1) {
    Outcome outcome;
    std::vector<Metrics> metrics(static_cast<size_t>(ranks));  // loss and accuracy of each
    comm::ThreadNetwork network(ranks);
    comm::RunRanks(&network, [&](int rank) {
      comm::Group group([&] { return std::make_unique<comm::ThreadWire>(&network, rank); },
                        {20, 15, 0.2});
      RunContext ctx = TestContext();
      ctx.threads = 1;
      auto model = SmallModel(ctx, "bert", model_options_);
      Recorder recorder;
      if (rank == stops) recorder.stop_after = 3;
      Trainer trainer(
          ctx, &group, options_, model.get(), &train_, &evaluation_,
          LabelMetrics(data::MetricSet::kAccuracy), [](const std::filesystem::path&) {}, &recorder);
      const TrainResult result = trainer.Train();
      EXPECT_EQ(result.interrupted, stops >= 0) << "rank " << rank;
      EvaluationResult evaluation;
      if (!result.interrupted) {
        evaluation = trainer.Evaluate(evaluation_, "eval");
        metrics[static_cast<size_t>(rank)] = {evaluation.metrics[0], evaluation.metrics[1]};
      }
      if (rank != 0) return;
      outcome.losses = recorder.losses;
      outcome.tokens = recorder.tokens;
      outcome.evaluation = evaluation;
      outcome.interrupted = result.interrupted;
      const nn::ParameterSet& parameters = model->parameters();
      outcome.weights.assign(parameters.values(), parameters.values() + parameters.flat_size());
    });
    for (const Metrics& of_rank : metrics) EXPECT_EQ(of_rank, metrics[0]);
    return outcome;
  }

  nn::ModelOptions model_options_;
  TrainOptions options_;
  std::filesystem::path folder_;
  const data::Features train_ = SomeRows(50);  // 12, 12, 12, 12, 2: some ranks get no row
  const data::Features evaluation_ = SomeRows(19, 5);
};

void ExpectSame(const Outcome& a, const Outcome& b, double tolerance) {
  ASSERT_EQ(a.losses.size(), b.losses.size());
  for (size_t i = 0; i < a.losses.size(); ++i) {
    EXPECT_NEAR(a.losses[i], b.losses[i], tolerance * std::abs(b.losses[i])) << "update " << i;
  }
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_NEAR(a.evaluation.loss, b.evaluation.loss, 10 * tolerance);
  ASSERT_EQ(a.evaluation.logits.size(), b.evaluation.logits.size());
  for (size_t i = 0; i < a.evaluation.logits.size(); ++i) {
    EXPECT_NEAR(a.evaluation.logits[i], b.evaluation.logits[i], 100 * tolerance) << i;
  }
}

TEST_F(RanksTest, LossesEvaluationAndWeightsAreThoseOfOneProcess) {
  const Outcome one = Run(1);
  ASSERT_EQ(one.losses.size(), 10u);
  for (const int ranks : {2, 3, 4, 8}) {
    SCOPED_TRACE(ranks);
    const Outcome several = Run(ranks);
    ExpectSame(several, one, 1e-5);
    for (size_t i = 0; i < one.weights.size(); ++i) {
      // Where a gradient is next to nothing, Adam makes rounding visible.
      ASSERT_NEAR(several.weights[i], one.weights[i], 1e-3) << i;
    }
  }
}

TEST_F(RanksTest, AccumulationAndRanksMakeTheSameUpdates) {
  const Outcome one = Run(1);
  options_.accumulation = 3;
  ExpectSame(Run(1), one, 1e-5);
  options_.accumulation = 2;
  options_.train_batch_size = 3;
  ExpectSame(Run(2), one, 1e-5);
}

TEST_F(RanksTest, WithoutAGivenGlobalBatchItGrowsWithTheRanks) {
  options_.global_batch.reset();
  EXPECT_EQ(Run(1).losses.size(), 26u);  // 2 x ceil(50 / 4)
  EXPECT_EQ(Run(2).losses.size(), 14u);  // 2 x ceil(50 / 8)
}

TEST_F(RanksTest, Bf16OnTheWireStaysNear) {
  const Outcome one = Run(1);
  options_.grad_wire = comm::WireType::kBf16;
  const Outcome several = Run(3);
  ASSERT_EQ(several.losses.size(), one.losses.size());
  bool all_equal = true;
  for (size_t i = 0; i < one.losses.size(); ++i) {
    EXPECT_NEAR(several.losses[i], one.losses[i], 0.01);
    all_equal = all_equal && several.losses[i] == one.losses[i];
  }
  EXPECT_FALSE(all_equal) << "nothing was rounded";
}

TEST_F(RanksTest, AStopOfAnyRankStopsAllAndAnotherNumberOfRanksGoesOn) {
  const Outcome whole = Run(1);
  options_.save.strategy = Interval::kSteps;
  const Outcome stopped = Run(3, /*stops=*/2);
  EXPECT_TRUE(stopped.interrupted);
  ASSERT_LT(stopped.losses.size(), whole.losses.size());
  const auto at = std::ssize(stopped.losses);
  options_.resume_from = folder_ / ("checkpoint-" + std::to_string(at));
  ASSERT_TRUE(std::filesystem::exists(*options_.resume_from));
  const Outcome rest = Run(2);
  EXPECT_FALSE(rest.interrupted);
  Outcome both = stopped;
  both.losses.insert(both.losses.end(), rest.losses.begin(), rest.losses.end());
  both.tokens.insert(both.tokens.end(), rest.tokens.begin(), rest.tokens.end());
  both.evaluation = rest.evaluation;
  ExpectSame(both, whole, 1e-5);
}

TEST_F(RanksTest, ARankWithOtherDataIsNamed) {
  comm::ThreadNetwork network(2);
  std::atomic<int> errors{0};
  comm::RunRanks(&network, [&](int rank) {
    comm::Group group([&] { return std::make_unique<comm::ThreadWire>(&network, rank); },
                      {20, 15, 0.2});
    RunContext ctx = TestContext();
    ctx.threads = 1;
    auto model = SmallModel(ctx, "bert", model_options_);
    const data::Features data = SomeRows(50, rank == 0 ? 3 : 4);
    Recorder recorder;
    Trainer trainer(
        ctx, &group, options_, model.get(), &data, nullptr,
        LabelMetrics(data::MetricSet::kAccuracy), [](const std::filesystem::path&) {}, &recorder);
    try {
      trainer.Train();
    } catch (const Error& error) {
      ++errors;
      const std::string text = error.what();
      EXPECT_NE(text.find("rank 1 on"), std::string::npos) << text;
      EXPECT_NE(text.find("the same training data"), std::string::npos) << text;
    }
  });
  EXPECT_EQ(errors, 2);
}

}  // namespace
}  // namespace hagane::train
