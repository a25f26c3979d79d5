#include "cli/progress.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hagane::cli {
namespace {

TEST(ProgressTest, BarFitsTheTerminal) {
  for (const int width : {1, 5, 20, 40, 80, 200}) {
    const std::string line = DrawBar(0.45, "step 45/100  loss 0.5", width);
    EXPECT_LT(static_cast<int>(line.size()), width) << width;
  }
  const std::string line = DrawBar(0.5, "x", 80);
  EXPECT_NE(line.find("[###############               ]"), std::string::npos) << line;
}

TEST(ProgressTest, BarStaysWithinItsEnds) {
  EXPECT_NE(DrawBar(1.5, "x", 80).find("100%"), std::string::npos);
  EXPECT_NE(DrawBar(-1, "x", 80).find("  0%"), std::string::npos);
}

train::StepReport Step(double loss, double seconds) {
  train::StepReport report;
  report.loss = loss;
  report.examples = 32;
  report.tokens = 640;
  report.seconds = seconds;
  return report;
}

TEST(ProgressTest, RatesFollowTheLastSeconds) {
  RateWindow window;
  for (int i = 0; i < 100; ++i) window.Add(Step(1.0, 1.0));
  EXPECT_DOUBLE_EQ(window.examples_per_second(), 32);
  for (int i = 0; i < 100; ++i) window.Add(Step(1.0, 0.5));
  EXPECT_DOUBLE_EQ(window.examples_per_second(), 64);
  EXPECT_DOUBLE_EQ(window.tokens_per_second(), 1280);
  EXPECT_DOUBLE_EQ(window.seconds_per_step(), 0.5);
}

TEST(ProgressTest, AnInvalidLossLeavesTheWindow) {
  RateWindow window;
  window.Add(Step(NAN, 1.0));
  EXPECT_TRUE(std::isnan(window.loss()));
  for (int i = 0; i < 20; ++i) window.Add(Step(2.0, 1.0));
  EXPECT_DOUBLE_EQ(window.loss(), 2.0);
}

}  // namespace
}  // namespace hagane::cli
