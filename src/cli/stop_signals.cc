#include "cli/stop_signals.h"

#include <csignal>
#include <initializer_list>

namespace hagane::cli {

namespace {

// The only thing a handler may touch; written by it, read by received().
volatile std::sig_atomic_t stop_signal = 0;

void Remember(int signal) { stop_signal = signal; }

void Install(int signal, bool ours) {
  struct sigaction action {};
  action.sa_handler = ours ? Remember : SIG_DFL;
  // SA_RESETHAND: the second signal finds the default action and ends the process.
  action.sa_flags = ours ? static_cast<int>(SA_RESETHAND | SA_RESTART) : 0;
  sigaction(signal, &action, nullptr);
}

bool Ignored(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

StopSignals::StopSignals() : hang_up_(!Ignored(SIGHUP)) {
  stop_signal = 0;
  for (const int signal : {SIGINT, SIGTERM}) Install(signal, true);
  if (hang_up_) Install(SIGHUP, true);
}

StopSignals::~StopSignals() {
  for (const int signal : {SIGINT, SIGTERM}) Install(signal, false);
  if (hang_up_) Install(SIGHUP, false);
}

int StopSignals::received() const { return stop_signal; }

}  // namespace hagane::cli
