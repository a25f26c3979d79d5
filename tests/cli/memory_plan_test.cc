#include "cli/memory_plan.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "tests/comm/thread_wire.h"
#include "tests/io/temporary_folder.h"
#include "tests/nn/small_models.h"

namespace hagane::cli {
namespace {

// Rows of 10 tokens, to train on and to evaluate.
class RowsTask : public Task {
 public:
  explicit RowsTask(int64_t rows) {
    features_.row_start.push_back(0);
    for (int64_t row = 0; row < rows; ++row) features_.row_start.push_back(10 * (row + 1));
    features_.ids.assign(static_cast<size_t>(10 * rows), 2);
    train_ = TaskSplit{&features_, 1, ""};
    evaluation_.push_back({&features_, 1, ""});
  }
  std::string command() const override { return "run_glue"; }
  std::string auto_class() const override { return ""; }
  void ReadData(const io::ModelConfig&, std::optional<int64_t>, Log&) override {}
  std::string data_name() const override { return ""; }
  void Tokenise(const TokeniseJob&) override {}
  nn::ModelOptions model_options() const override { return {}; }
  void AddToConfig(nlohmann::ordered_json*) const override {}
  train::EvaluationMetrics metrics(const RunContext&) override { return {}; }
  std::vector<std::filesystem::path> WritePrediction(size_t, const std::filesystem::path&,
                                                     const train::EvaluationResult&) override {
    return {};
  }

 private:
  data::Features features_;
};

class MemoryPlanTest : public testing::Test {
 protected:
  MemoryPlanTest() : ctx_(nn::TestContext()), model_(nn::SmallModel(ctx_, "bert", {})), task_(64) {
    options_.train_batch_size = 32;
    options_.eval_batch_size = 64;
  }
  // The hint of what CheckMemory throws with `free` bytes left; empty: it does not.
  std::string Hint(int64_t free) const {
    try {
      CheckMemory(EstimateMemory(*model_, task_, options_), {free + 1, free, "this machine"},
                  *model_, task_, options_);
    } catch (const Error& error) {
      return error.hint();
    }
    return "";
  }
  int64_t Training(int64_t rows) const {
    return static_cast<int64_t>(model_->ActivationBytes(10 * rows, rows, true));
  }

  RunContext ctx_;
  std::unique_ptr<nn::Model> model_;
  RowsTask task_;
  train::TrainOptions options_;
};

TEST_F(MemoryPlanTest, CountsMomentsTheLargestBatchAndTheLogits) {
  const MemoryNeed need = EstimateMemory(*model_, task_, options_);
  EXPECT_EQ(need.optimizer, 8 * model_->parameters().flat_size());
  EXPECT_EQ(need.activations,
            std::max(Training(32), static_cast<int64_t>(model_->ActivationBytes(640, 64, false))));
  EXPECT_EQ(need.logits, 64 * 2 * 4);
  EXPECT_EQ(need.saving, 12 * model_->parameters().flat_size());
  EXPECT_GT(need.held, 0);
  EXPECT_EQ(need.total(), need.held + need.more());
}

TEST_F(MemoryPlanTest, ACopyToSaveFromIsCountedWhereOneIsMade) {
  options_.save.only_model = true;
  EXPECT_EQ(EstimateMemory(*model_, task_, options_).saving, 4 * model_->parameters().flat_size());
  options_.save.in_background = false;
  EXPECT_EQ(EstimateMemory(*model_, task_, options_).saving, 0);
  options_.save.in_background = true;
  options_.save.strategy = train::Interval::kNo;
  EXPECT_EQ(EstimateMemory(*model_, task_, options_).saving, 0);
}

TEST_F(MemoryPlanTest, EnoughIsEnough) {
  EXPECT_EQ(Hint(EstimateMemory(*model_, task_, options_).more()), "");
  EXPECT_EQ(Hint(std::numeric_limits<int64_t>::max() - 1), "");
}

TEST_F(MemoryPlanTest, NamesTheLargestDivisorOfTheBatchThatFits) {
  options_.eval_batch_size = 1;
  const MemoryNeed need = EstimateMemory(*model_, task_, options_);
  const int64_t rest = need.more() - need.activations;
  EXPECT_NE(Hint(rest + Training(31))
                .find("--per_device_train_batch_size 16 "
                      "--gradient_accumulation_steps 2"),
            std::string::npos);
  EXPECT_NE(Hint(rest + Training(8))
                .find("--per_device_train_batch_size 8 "
                      "--gradient_accumulation_steps 4"),
            std::string::npos);
}

TEST_F(MemoryPlanTest, WhatItNamesFits) {
  options_.eval_batch_size = 1;
  const MemoryNeed need = EstimateMemory(*model_, task_, options_);
  const int64_t free = need.more() - need.activations + Training(10);
  options_.train_batch_size = 8;
  EXPECT_EQ(Hint(free), "");
}

TEST_F(MemoryPlanTest, AllProcessesOfTheHostAreCounted) {
  MemoryNeed mine = EstimateMemory(*model_, task_, options_);
  mine.held = 1000;
  comm::ThreadNetwork network(3);
  std::vector<MemoryNeed> of_host(3);
  comm::RunGroups(&network, {20, 15, 0.2}, [&](comm::Group* group) {
    of_host[static_cast<size_t>(group->rank())] = NeedOfHost(group, mine);
  });
  for (const MemoryNeed& need : of_host) {
    EXPECT_EQ(need.processes, 3);
    EXPECT_EQ(need.held, 3000);
    EXPECT_EQ(need.optimizer, 3 * mine.optimizer);
    EXPECT_EQ(need.activations, 3 * mine.activations);
    EXPECT_EQ(need.logits, mine.logits);  // rank 0's alone
    EXPECT_EQ(need.saving, mine.saving);
  }
  // Each of the three gets a batch of 16 or less into what is left.
  options_.eval_batch_size = 1;
  const MemoryNeed& need = of_host[0];
  const int64_t free = need.more() - need.activations + 3 * Training(16) + 2;
  try {
    CheckMemory(need, {free + 1, free, "this machine"}, *model_, task_, options_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(io::Contains(error.what(), "the 3 processes of this run on this host need"));
    EXPECT_TRUE(io::Contains(error.hint(), "--per_device_train_batch_size 16"));
  }
}

TEST_F(MemoryPlanTest, NoBatchFits) {
  EXPECT_NE(Hint(1000).find("--max_seq_length"), std::string::npos);
}

}  // namespace
}  // namespace hagane::cli
