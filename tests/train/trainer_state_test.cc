#include "train/trainer_state.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/checkpoint.h"
#include "train/checkpoint.h"

namespace hagane::train {
namespace {

std::filesystem::path Write(const std::string& text) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "trainer_state_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "trainer_state.json") << text;
  return folder;
}

TEST(TrainerState, RoundTripKeepsEveryBit) {
  TrainerState state;
  state.global_step = 7;
  state.epoch = 1.0 / 3;
  state.max_steps = 21;
  state.best_metric = 0.1 + 0.2;
  state.best_model_checkpoint = "out/checkpoint-7";
  state.seed = 42;
  state.data_seed = 43;
  state.global_batch = 8;
  state.loss_sum = 4.000000000000001;
  state.interval_loss = 1e-17;
  state.interval_steps = 2;
  state.log_history = {{5, 0.25, {{"loss", 0.6904296875}, {"grad_norm", 1.25f}}}};
  const LoadedState loaded = ReadTrainerState(Write(ToJson(state).dump()));
  EXPECT_TRUE(loaded.has_hagane_part);
  EXPECT_EQ(ToJson(loaded.state), ToJson(state));
}

TEST(TrainerState, OnlyABatchThatAFlagCouldAskForIsKept) {
  for (const int64_t batch : {int64_t{0}, int64_t{1}, int64_t{INT32_MAX}, int64_t{INT32_MAX} + 1,
                              std::numeric_limits<int64_t>::max()}) {
    TrainerState state;
    state.global_batch = batch;
    const bool kept = GlobalBatchToKeep(Write(ToJson(state).dump()), {}).has_value();
    EXPECT_EQ(kept, batch == 1 || batch == INT32_MAX) << batch;
  }
}

TEST(TrainerState, KeysAreTheReferences) {
  io::WriteTrainerState(testing::TempDir(), ToJson(TrainerState{}));
  std::ifstream file(std::filesystem::path(testing::TempDir()) / "trainer_state.json");
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  for (const char* key : {"\"best_metric\": null", "\"best_model_checkpoint\": null",
                          "\"epoch\": 0.0", "\"global_step\": 0", "\"is_local_process_zero\": true",
                          "\"log_history\": []", "\"trial_name\": null", "\"total_flos\": 0.0"}) {
    EXPECT_NE(json.find(key), std::string::npos) << key << "\n" << json;
  }
  EXPECT_EQ(json.back(), '\n');
}

TEST(TrainerState, ATrainersOwnFileIsRead) {
  const LoadedState loaded = ReadTrainerState(Write(R"({
  "best_metric": null, "best_model_checkpoint": null, "epoch": 1.5, "global_step": 30,
  "log_history": [{"epoch": 1.0, "learning_rate": 1e-05, "loss": 0.5, "step": 20}],
  "max_steps": 60, "num_train_epochs": 3, "total_flos": 123.0})"));
  EXPECT_FALSE(loaded.has_hagane_part);
  EXPECT_EQ(loaded.state.global_step, 30);
  ASSERT_EQ(loaded.state.log_history.size(), 1u);
  EXPECT_EQ(loaded.state.log_history[0].step, 20);
}

TEST(TrainerState, DamageIsNamed) {
  EXPECT_THROW(ReadTrainerState(Write("{\"global_step\": \"x\"}")), Error);
  EXPECT_THROW(ReadTrainerState(Write("{")), Error);
  EXPECT_THROW(ReadTrainerState("/nonexistent"), Error);
}

// Converting such numbers to integers is undefined.
TEST(TrainerState, NumbersThatAreNoCountsAreRefusedByName) {
  for (const char* number : {"1e300", "-1", "2.5", "1e19", "9223372036854775808", "NaN"}) {
    const auto folder =
        Write(R"({"epoch": 1.5, "global_step": 30, "log_history": [], "max_steps": )" +
              std::string(number) + "}");
    try {
      ReadTrainerState(folder);
      ADD_FAILURE() << number;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("\"max_steps\" is no whole number"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace hagane::train
