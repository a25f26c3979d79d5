#include "cli/stop_signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <initializer_list>

namespace hagane::cli {

namespace {

// Written by a handler and read by all threads of a loop: a lock in it could be held by the thread
// that the signal interrupted.
std::atomic<int> stop_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

// Runs between any two instructions: nothing but the atomic and sigaction, which POSIX allows.
void Remember(int signal) {
  const int reason = errno;
  int none = 0;
  stop_signal.compare_exchange_strong(none, signal);
  Handle(SIGINT, SIG_DFL);
  errno = reason;
}

void HandleAll(void (*before)(int), void (*after)(int)) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == before) Handle(signal, after);
  }
}

}  // namespace

StopSignals::StopSignals() {
  stop_signal = 0;
  HandleAll(SIG_DFL, Remember);
}

StopSignals::~StopSignals() { HandleAll(Remember, SIG_DFL); }

int StopSignals::received() const { return stop_signal; }

}  // namespace hagane::cli
