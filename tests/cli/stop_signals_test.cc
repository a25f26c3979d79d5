#include "cli/stop_signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace hagane::cli {
namespace {

TEST(StopSignalsTest, TheFirstSignalIsOnlyRemembered) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const StopSignals signals;
    EXPECT_EQ(signals.received(), 0);
    std::raise(signal);
    EXPECT_EQ(signals.received(), signal);
  }
}

TEST(StopSignalsDeathTest, TheSecondEndsTheProcess) {
  EXPECT_EXIT(
      {
        const StopSignals signals;
        std::raise(SIGTERM);
        std::raise(SIGTERM);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignalsDeathTest, AfterwardsSignalsAreThemselvesAgain) {
  EXPECT_EXIT(
      {
        { const StopSignals signals; }
        std::raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace hagane::cli
