// The number of processes changes nothing but the time: the same training on 1 to 4 ranks (threads
// of the test, with a model each), to rounding.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "tests/comm/thread_wire.h"
#include "tests/io/temporary_folder.h"
#include "tests/train/trainer_fixture.h"
#include "train/checkpoint.h"

namespace hagane::train {
namespace {

constexpr comm::Deadlines kDeadlines{20, 15, 0.2};

struct Outcome {
  std::vector<double> losses;
  std::vector<int64_t> tokens;
  EvaluationResult evaluation;
  std::vector<float> weights;
  bool interrupted = false;
};

class RanksTest : public TrainerTest {
 protected:
  void SetUp() override {
    TrainerTest::SetUp();
    options_.train_batch_size = 4;
    options_.eval_batch_size = 3;
    options_.global_batch = 12;
    options_.num_train_epochs = 2;
  }

  // What rank 0 sees. `stops`: the rank that is asked to stop after three updates, or -1.
  Outcome Run(int ranks, int stops = -1) {
    Outcome outcome;
    std::vector<Metrics> metrics(static_cast<size_t>(ranks));  // loss and accuracy of each
    comm::ThreadNetwork network(ranks);
    comm::RunGroups(&network, kDeadlines, [&](comm::Group* group) {
      const int rank = group->rank();
      const RunContext ctx = nn::TestContext(1);
      const auto model = nn::SmallModel(ctx, "bert", {});
      Recorder recorder;
      if (rank == stops) recorder.stop_after = 3;
      Trainer trainer(ctx, group, options_, model.get(), &train_, &evaluation_,
                      LabelMetrics(data::MetricSet::kAccuracy), save_model_files_, &recorder);
      const TrainResult result = trainer.Train();
      EXPECT_EQ(result.interrupted, stops >= 0) << "rank " << rank;
      EvaluationResult evaluation;
      if (!result.interrupted) {
        evaluation = trainer.Evaluate(evaluation_, "eval");
        metrics[static_cast<size_t>(rank)] = {evaluation.metrics[0], evaluation.metrics[1]};
      }
      if (rank != 0) return;
      for (const StepReport& step : recorder.steps) {
        outcome.losses.push_back(step.loss);
        outcome.tokens.push_back(step.tokens);
      }
      outcome.evaluation = evaluation;
      outcome.interrupted = result.interrupted;
      const nn::ParameterSet& parameters = model->parameters();
      outcome.weights.assign(parameters.values(), parameters.values() + parameters.flat_size());
    });
    for (const Metrics& of_rank : metrics) EXPECT_EQ(of_rank, metrics[0]);
    return outcome;
  }

  const data::Features train_ = SmallFeatures(50);  // 12, 12, 12, 12, 2: some ranks get no row
  const data::Features evaluation_ = SmallFeatures(19, 5);
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

TEST_F(RanksTest, TheGlobalBatchOfACheckpointIsKeptOnAnotherNumberOfRanks) {
  options_.global_batch.reset();
  options_.train_batch_size = 2;
  options_.accumulation = 2;
  options_.batch_asked = true;
  const Outcome whole = Run(3);
  options_.save.strategy = Interval::kSteps;
  const auto at = [&](size_t updates) {
    return folder_ / ("checkpoint-" + std::to_string(updates));
  };
  // 3 ranks, then 2, then 4; the flags stay.
  Outcome all = Run(3, /*stops=*/0);
  for (const int ranks : {2, 4}) {
    SCOPED_TRACE(ranks);
    options_.resume_from = at(all.losses.size());
    EXPECT_EQ(GlobalBatchToKeep(*options_.resume_from, options_), 12);
    options_.global_batch = 12;
    const Outcome next = Run(ranks, ranks == 2 ? 1 : -1);
    options_.global_batch.reset();
    all.losses.insert(all.losses.end(), next.losses.begin(), next.losses.end());
    all.tokens.insert(all.tokens.end(), next.tokens.begin(), next.tokens.end());
    all.evaluation = next.evaluation;
  }
  ExpectSame(all, whole, 1e-5);
}

TEST_F(RanksTest, ABatchThatIsAskedForIsNotReplacedByTheCheckpoints) {
  options_.global_batch.reset();
  options_.batch_asked = true;
  options_.save.strategy = Interval::kSteps;
  const size_t updates = Run(3, /*stops=*/0).losses.size();
  options_.resume_from = folder_ / ("checkpoint-" + std::to_string(updates));
  ASSERT_EQ(GlobalBatchToKeep(*options_.resume_from, options_), 12);
  // Split otherwise into passes, and not asked for at all.
  options_.train_batch_size = 2;
  options_.accumulation = 2;
  EXPECT_EQ(GlobalBatchToKeep(*options_.resume_from, options_), 12);
  options_.accumulation = 3;
  options_.batch_asked = false;
  EXPECT_EQ(GlobalBatchToKeep(*options_.resume_from, options_), 12);

  options_.batch_asked = true;
  EXPECT_EQ(GlobalBatchToKeep(*options_.resume_from, options_), std::nullopt);
  Run(2);  // 2 x 3 x 2 ranks: the same update, by other flags
  options_.global_batch = 11;
  EXPECT_EQ(GlobalBatchToKeep(*options_.resume_from, options_), std::nullopt);
  Recorder recorder;
  const std::string refusal = io::ErrorOf([&] { TrainerTest::Run(train_, &recorder); });
  EXPECT_TRUE(io::Contains(refusal, "12 samples an update")) << refusal;
}

TEST_F(RanksTest, AnEpochHasAllItsRowsWhereTheBatchIsNoMultipleOfTheAccumulation) {
  options_.global_batch = 13;
  options_.accumulation = 2;
  options_.num_train_epochs = 1;
  Recorder recorder;
  TrainerTest::Run(SmallFeatures(27), &recorder);
  EXPECT_EQ(recorder.steps.size(), 3u);  // 13, 13, 1
}

TEST_F(RanksTest, ARankWithOtherDataIsNamed) {
  comm::ThreadNetwork network(2);
  std::atomic<int> errors{0};
  comm::RunGroups(&network, kDeadlines, [&](comm::Group* group) {
    const RunContext ctx = nn::TestContext(1);
    const auto model = nn::SmallModel(ctx, "bert", {});
    const data::Features data = SmallFeatures(50, group->leads() ? 3 : 4);
    Recorder recorder;
    Trainer trainer(ctx, group, options_, model.get(), &data, nullptr,
                    LabelMetrics(data::MetricSet::kAccuracy), save_model_files_, &recorder);
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
