#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hagane::train {
namespace {

ScheduleOptions Of(ScheduleType type, int64_t warmup = 0) {
  ScheduleOptions options;
  options.type = type;
  options.warmup_steps = warmup;
  return options;
}

TEST(Schedule, LinearWarmsUpFromZeroAndEndsAtZero) {
  const auto options = Of(ScheduleType::kLinear, 4);
  EXPECT_EQ(ScheduleFactor(options, 0, 32, 1e-3), 0.0);
  EXPECT_EQ(ScheduleFactor(options, 1, 32, 1e-3), 0.25);
  EXPECT_EQ(ScheduleFactor(options, 4, 32, 1e-3), 1.0);
  EXPECT_DOUBLE_EQ(ScheduleFactor(options, 5, 32, 1e-3), 27.0 / 28);
  EXPECT_EQ(ScheduleFactor(options, 32, 32, 1e-3), 0.0);
}

TEST(Schedule, LinearWithoutWarmupAsInTheAccumulationCase) {
  const double expected[] = {0.001,       0.000888889, 0.000777778, 0.000666667, 0.000555556,
                             0.000444444, 0.000333333, 0.000222222, 0.000111111};
  for (int step = 0; step < 9; ++step) {
    EXPECT_NEAR(1e-3 * ScheduleFactor(Of(ScheduleType::kLinear), step, 9, 1e-3), expected[step],
                1e-9);
  }
}

TEST(Schedule, WarmupStepsWinOverTheRatioWhichRoundsUp) {
  ScheduleOptions options;
  options.warmup_ratio = 0.1;
  EXPECT_EQ(WarmupSteps(options, 31), 4);
  options.warmup_steps = 2;
  EXPECT_EQ(WarmupSteps(options, 31), 2);
}

TEST(Schedule, CosineIsHalfInTheMiddle) {
  EXPECT_NEAR(ScheduleFactor(Of(ScheduleType::kCosine), 50, 100, 1), 0.5, 1e-12);
  EXPECT_NEAR(ScheduleFactor(Of(ScheduleType::kCosine), 100, 100, 1), 0.0, 1e-12);
  auto cycles = Of(ScheduleType::kCosine);
  cycles.num_cycles = 1.5;
  EXPECT_NEAR(ScheduleFactor(cycles, 50, 100, 1), 0.5 * (1 + std::cos(1.5 * M_PI)), 1e-12);
}

TEST(Schedule, RestartsJumpBackToOne) {
  auto options = Of(ScheduleType::kCosineWithRestarts);
  options.num_cycles = 2;
  EXPECT_NEAR(ScheduleFactor(options, 50, 100, 1), 1.0, 1e-12);
  EXPECT_NEAR(ScheduleFactor(options, 25, 100, 1), 0.5, 1e-12);
  EXPECT_EQ(ScheduleFactor(options, 100, 100, 1), 0.0);
}

TEST(Schedule, PolynomialEndsAtItsLastRate) {
  const auto options = Of(ScheduleType::kPolynomial);
  EXPECT_NEAR(1e-3 * ScheduleFactor(options, 0, 10, 1e-3), 1e-3, 1e-15);
  EXPECT_NEAR(1e-3 * ScheduleFactor(options, 5, 10, 1e-3), (1e-3 - 1e-7) * 0.5 + 1e-7, 1e-15);
  EXPECT_NEAR(1e-3 * ScheduleFactor(options, 11, 10, 1e-3), 1e-7, 1e-18);
}

TEST(Schedule, ConstantIgnoresWarmupAndTheOtherConstantDoesNot) {
  EXPECT_EQ(ScheduleFactor(Of(ScheduleType::kConstant, 4), 1, 10, 1), 1.0);
  EXPECT_EQ(ScheduleFactor(Of(ScheduleType::kConstantWithWarmup, 4), 1, 10, 1), 0.25);
  EXPECT_EQ(ScheduleFactor(Of(ScheduleType::kConstantWithWarmup, 4), 9, 10, 1), 1.0);
}

TEST(Schedule, InverseSqrtFallsWithTheSquareRootOfTheStep) {
  EXPECT_NEAR(ScheduleFactor(Of(ScheduleType::kInverseSqrt, 4), 16, 100, 1), 0.5, 1e-12);
}

}  // namespace
}  // namespace hagane::train
