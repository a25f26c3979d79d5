#include "cli/stop_signals.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>

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

// Where a handler is on its own stack, what it was called upon has its whole stack, below the stack
// pointer too.
uintptr_t handler_frame = 0;
void NoteFrame(int) {
  char local = 0;
  handler_frame = reinterpret_cast<uintptr_t>(&local);
}

TEST(StopSignalsTest, HandlersHaveAStackOfTheirOwn) {
  const StopSignals signals;
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    EXPECT_NE(action.sa_flags & SA_ONSTACK, 0);
    const struct sigaction ours = action;
    action.sa_handler = NoteFrame;
    sigaction(signal, &action, nullptr);
    std::raise(signal);
    sigaction(signal, &ours, nullptr);
    const char here = 0;
    const auto there = static_cast<intptr_t>(handler_frame - reinterpret_cast<uintptr_t>(&here));
    EXPECT_GT(std::abs(there), 1 << 20);
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
