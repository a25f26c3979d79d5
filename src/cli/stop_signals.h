// SIGINT, SIGTERM and SIGHUP as a question: "shall we stop?". While an object lives, the first
// signal is only remembered, so that the loop can save its state; a second one of the same kind
// ends the process at once. A SIGHUP that is ignored (nohup) stays so.
#pragma once

namespace hagane::cli {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The signal received since construction, or 0.
  int received() const;

 private:
  bool hang_up_;
};

// 0 done, 75 interrupted with the state saved (run the same command again).
inline constexpr int kExitInterruptedSaved = 75;

}  // namespace hagane::cli
