// Ctrl-C (SIGINT) and the notices of launchers, spot machines and batch systems (SIGTERM, SIGUSR1,
// SIGHUP) as a question: "shall we stop?". While an object lives, the first signal is only
// remembered, so that the loops can end and save. From then on Ctrl-C ends the process at once;
// notices may come as often as their senders like. A signal that is ignored (nohup) stays so.
//
// The handler has a stack of its own: oneDNN's generated code keeps values far below the stack
// pointer, where a handler on the same stack overwrites them and the process crashes.
#pragma once

#include <csignal>

namespace hagane::cli {

class StopSignals {
 public:
  // On the main thread, when the number of OpenMP threads is set.
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The first signal received since construction, or 0. From any thread.
  int received() const;

 private:
  stack_t stack_before_{};
};

// The same command, run again, goes on.
inline constexpr int kExitInterrupted = 75;

}  // namespace hagane::cli
