#include "cli/stop_signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace hagane::cli {
namespace {

TEST(StopSignalsTest, TheFirstSignalIsOnlyRemembered) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
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

TEST(StopSignalsTest, NoticesMayBeRepeated) {
  const StopSignals signals;
  for (const int signal : {SIGUSR1, SIGTERM, SIGTERM, SIGUSR1, SIGHUP}) std::raise(signal);
  EXPECT_EQ(signals.received(), SIGUSR1);
}

TEST(StopSignalsDeathTest, CtrlCAfterAnyOtherEndsTheProcess) {
  for (const int first : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    EXPECT_EXIT(
        {
          const StopSignals signals;
          std::raise(first);
          std::raise(SIGINT);
        },
        ::testing::KilledBySignal(SIGINT), "");
  }
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
