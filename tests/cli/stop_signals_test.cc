#include "cli/stop_signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace hagane::cli {
namespace {

TEST(StopSignalsTest, TheFirstSignalIsOnlyRemembered) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const StopSignals signals;
    EXPECT_EQ(signals.received(), 0);
    std::raise(signal);
    EXPECT_EQ(signals.received(), signal);
  }
}

TEST(StopSignalsTest, NohupKeepsItsMeaning) {
  std::signal(SIGHUP, SIG_IGN);
  {
    const StopSignals signals;
    std::raise(SIGHUP);
    EXPECT_EQ(signals.received(), 0);
  }
  EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_IGN);
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
