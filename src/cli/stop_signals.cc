#include "cli/stop_signals.h"

#include <omp.h>

#include <atomic>
#include <cerrno>
#include <initializer_list>

namespace hagane::cli {

namespace {

constexpr std::initializer_list<int> kSignals = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};

// Written by a handler and read by all threads of a loop: a lock in it could be held by the thread
// that the signal interrupted.
std::atomic<int> stop_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

// The registers of AMX and AVX-512 alone take 11 KB of it.
alignas(64) char handler_stack[1 << 16];

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
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
  for (const int signal : kSignals) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == before) Handle(signal, after);
  }
}

// The other threads of parallel regions leave these signals to the calling one, which has the
// stack for them.
void MaskWorkers(int how) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) sigaddset(&set, signal);
#pragma omp parallel
  if (omp_get_thread_num() != 0) pthread_sigmask(how, &set, nullptr);
}

}  // namespace

StopSignals::StopSignals() {
  stop_signal = 0;
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof(handler_stack);
  sigaltstack(&stack, &stack_before_);
  MaskWorkers(SIG_BLOCK);
  HandleAll(SIG_DFL, Remember);
}

StopSignals::~StopSignals() {
  HandleAll(Remember, SIG_DFL);
  MaskWorkers(SIG_UNBLOCK);
  sigaltstack(&stack_before_, nullptr);
}

int StopSignals::received() const { return stop_signal; }

}  // namespace hagane::cli
