#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "cli/bench_lengths.h"
#include "cli/bench_models.h"
#include "tests/cli/captured_streams.h"

namespace hagane::cli {
namespace {

TEST(BenchLengthsTest, MeansAreThoseOfTheTrainingSets) {
  const auto mean = [](const char* task) {
    const std::vector<int32_t> lengths = BenchLengths(task, 1280);
    return std::accumulate(lengths.begin(), lengths.end(), 0.0) / 1280;
  };
  EXPECT_NEAR(mean("mrpc"), 53.24, 0.05);
  EXPECT_NEAR(mean("qqp"), 30.75, 0.05);
  EXPECT_NEAR(mean("sst2"), 13.32, 0.05);
  EXPECT_NEAR(mean("squad"), 175.96, 0.05);
  EXPECT_EQ(BenchLengths("mrpc", 100), BenchLengths("mrpc", 100));
  EXPECT_THROW(BenchLengths("cola", 1), Error);
}

TEST(BenchModelsTest, ShapesHaveTheParametersOfTheirNames) {
  NullLog log;
  RunContext ctx = MakeRunContext("", 1, log);
  const auto model = MakeBenchModel(ctx, "minilm", ProblemType::kSingleLabel, false);
  EXPECT_NEAR(static_cast<double>(model->parameters().count()), 22.7e6, 0.05e6);
  EXPECT_THROW(BenchModelConfig("bert"), Error);
}

TEST(BenchStepTest, JsonHasTheKeysAndTheProfileAddsUp) {
  const Outcome outcome =
      RunProgram({"bench", "step", "--model", "minilm", "--lengths", "5", "--batch", "2", "--steps",
                  "1", "--threads", "1", "--bf16", "--profile", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  for (const char* key :
       {"examples_per_s", "gflops", "peak_gflops", "percent_of_peak", "peak_memory_bytes"}) {
    EXPECT_GT(json.at(key).get<double>(), 0) << key;
  }
  double seconds = 0, flops = 0;
  for (const auto& row : json.at("profile")) {
    seconds += row.at("seconds").get<double>();
    flops += row.at("flops").get<double>();
  }
  EXPECT_GT(flops, 0);
  EXPECT_LE(seconds, 2 / json.at("examples_per_s").get<double>());
}

TEST(BenchKernelsTest, EveryKernelHasARate) {
  for (const bool bf16 : {false, true}) {
    std::vector<std::string> args = {"bench",     "kernels", "--model",   "minilm",
                                     "--lengths", "sst2",    "--seconds", "0",
                                     "--threads", "1",       "--json"};
    if (bf16) args.push_back("--bf16");
    const Outcome outcome = RunProgram(args);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(json.at("kernels").size(), 20u);
    for (const auto& row : json.at("kernels")) {
      EXPECT_GT(row.at("gflops").get<double>() + row.at("gb_s").get<double>(), 0) << row.dump();
    }
  }
}

TEST(BenchStepTest, WhatItCannotMeasureIsRefused) {
  EXPECT_EQ(RunProgram({"bench"}).code, 2);
  EXPECT_EQ(RunProgram({"bench", "step", "--model", "gpt"}).code, 2);
  EXPECT_EQ(RunProgram({"bench", "step", "--lengths", "cola"}).code, 2);
  EXPECT_EQ(RunProgram({"bench", "step", "--lengths", "513"}).code, 2);
  EXPECT_EQ(RunProgram({"bench", "step", "--batch", "0"}).code, 2);
}

}  // namespace
}  // namespace hagane::cli
