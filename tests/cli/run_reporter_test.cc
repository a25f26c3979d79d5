#include "cli/run_reporter.h"

#include <gtest/gtest.h>

#include "tests/cli/captured_streams.h"

namespace hagane::cli {
namespace {

train::TrainPlan Plan() {
  train::TrainPlan plan;
  plan.examples = 3668;
  plan.num_epochs = 3;
  plan.batch_size = 16;
  plan.accumulation = 2;
  plan.total_batch_size = 32;
  plan.max_steps = 345;
  plan.updates_per_epoch = 115;
  plan.parameters = 1234;
  return plan;
}

train::StepReport Step(int64_t step, double seconds) {
  train::StepReport report;
  report.step = step;
  report.loss = 0.5;
  report.examples = 32;
  report.tokens = 640;
  report.seconds = seconds;
  return report;
}

TEST(LogLineTest, ConsoleRoundsLossAndEpochOnly) {
  EXPECT_EQ(LogLine({10, 1.448, {{"loss", 0.50123}, {"learning_rate", 1.1e-05}}}),
            "{'loss': 0.5012, 'learning_rate': 1.1e-05, 'epoch': 1.45}");
  EXPECT_EQ(LogLine({10, 1.0, {{"eval_loss", 0.5012345}}}),
            "{'eval_loss': 0.5012345, 'epoch': 1.0}");
}

TEST(RunReporterTest, DictsGoToStdoutAndBlocksToStderr) {
  CapturedStreams streams;
  Console console(streams.get(), Console::Level::kAll);
  RunReporter reporter(&console, {});
  reporter.OnTrainBegin(Plan());
  reporter.OnLog({1, 0.5, {{"loss", 1.0}}});
  EXPECT_EQ(streams.out(), "{'loss': 1.0, 'epoch': 0.5}\n");
  for (const char* line :
       {"***** Running training *****\n", "  Num examples = 3668\n", "  Num Epochs = 3\n",
        "  Instantaneous batch size per device = 16\n",
        "  Total train batch size (w. parallel, distributed & accumulation) = 32\n",
        "  Gradient Accumulation steps = 2\n", "  Total optimization steps = 345\n",
        "  Number of trainable parameters = 1234\n"}) {
    EXPECT_NE(streams.err().find(line), std::string::npos) << line;
  }
}

TEST(RunReporterTest, JsonModeKeepsStdoutFree) {
  CapturedStreams streams;
  Console console(streams.get(), Console::Level::kAll);
  console.SetJsonOnly();
  RunReporter reporter(&console, {});
  reporter.OnLog({1, 0.5, {{"loss", 1.0}}});
  EXPECT_EQ(streams.out(), "");
  console.Json("{}");
  EXPECT_EQ(streams.out(), "{}\n");
}

TEST(RunReporterTest, WithoutATerminalThereAreLinesAndNoCarriageReturns) {
  CapturedStreams streams;
  Console console(streams.get(), Console::Level::kAll);
  RunReporter reporter(&console, {});
  reporter.OnTrainBegin(Plan());
  for (int i = 1; i <= 12; ++i) reporter.OnStep(Step(i, 1.0));
  reporter.OnTrainEnd();
  EXPECT_EQ(streams.err().find('\r'), std::string::npos);
  EXPECT_NE(streams.err().find("step 5/345  loss 0.5000  32 examples/s  640 tokens/s"),
            std::string::npos)
      << streams.err();
  EXPECT_EQ(streams.err().find("step 6/345"), std::string::npos);
  EXPECT_NE(streams.err().find("step 10/345"), std::string::npos);
}

TEST(RunReporterTest, OnATerminalLinesDoNotRunIntoTheBar) {
  CapturedStreams streams(/*terminal=*/true);
  Console console(streams.get(), Console::Level::kAll);
  RunReporter reporter(&console, {});
  reporter.OnTrainBegin(Plan());
  reporter.OnStep(Step(1, 1.0));
  const size_t bar_end = streams.err().size();
  reporter.OnMessage("Saving");
  EXPECT_EQ(streams.err().substr(bar_end).rfind("\r\x1b[KSaving\n", 0), 0u);
  reporter.OnTrainEnd();
  EXPECT_TRUE(streams.err().ends_with("\r\x1b[K"));
}

TEST(RunReporterTest, DisabledProgressIsSilent) {
  CapturedStreams streams(/*terminal=*/true);
  Console console(streams.get(), Console::Level::kAll);
  RunReporter::Options options;
  options.progress = false;
  RunReporter reporter(&console, options);
  reporter.OnTrainBegin(Plan());
  const std::string before = streams.err();
  reporter.OnStep(Step(1, 10.0));
  EXPECT_EQ(streams.err(), before);
}

TEST(RunReporterTest, TimeLeftCountsEvaluations) {
  CapturedStreams streams;
  Console console(streams.get(), Console::Level::kAll);
  double now = 100;
  RunReporter::Options options;
  options.evaluation.strategy = train::Interval::kEpoch;
  options.evaluation_rows = 960;
  options.now = [&now] { return now; };
  RunReporter reporter(&console, options);
  reporter.OnTrainBegin(Plan());
  reporter.OnStep(Step(1, 2.0));
  // 344 steps of 2 s, 3 evaluations of 960 rows at three times 16 rows/s.
  EXPECT_DOUBLE_EQ(reporter.SecondsLeft(1), 344 * 2 + 3 * 960 / 48.0);
  reporter.OnEvaluationBegin({"Evaluation", 960, 8});
  now = 107;
  reporter.OnEvaluationEnd();
  EXPECT_DOUBLE_EQ(reporter.SecondsLeft(115), 230 * 2 + 2 * 7);
}

}  // namespace
}  // namespace hagane::cli
