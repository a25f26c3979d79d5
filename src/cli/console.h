// Where the program speaks: results on `out`, everything else on `err`; data may come from `in`.
#pragma once

#include <istream>
#include <mutex>
#include <ostream>
#include <string>

#include "base/log.h"

namespace hagane::cli {

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;
  bool colour = false;  // of err
  int width = 80;       // of the terminal
};

// The process's own stdout and stderr; NO_COLOR and TERM=dumb are obeyed.
Streams StandardStreams();

// Lines on both streams that never run into a progress bar: the bar is wiped before each line and
// drawn again after it. Thread safe.
class Console : public Log {
 public:
  enum class Level { kAll, kWarnings, kErrors };

  Console(const Streams& streams, Level level) : streams_(streams), level_(level) {}

  void Info(const std::string& line) override;
  void Warning(const std::string& line) override;
  // A line (or block) of results on stdout; dropped by SetJsonOnly.
  void Result(const std::string& text);
  // Whatever the level, on stdout: the one JSON object of --json.
  void Json(const std::string& text);
  // From now on nothing is said: another process says it.
  void Mute() { muted_ = true; }
  // From now on Result goes to stderr.
  void SetJsonOnly() { json_only_ = true; }

  // The text shown below all lines while a terminal is there; empty: none.
  void ShowStatus(const std::string& text);

  const Streams& streams() const { return streams_; }

 private:
  void Write(std::ostream& stream, const std::string& text);

  const Streams& streams_;
  Level level_;
  bool json_only_ = false;
  bool muted_ = false;
  std::mutex mutex_;
  std::string status_;
};

// "12 s", "3:05 min", "2:10:00 h".
std::string FormatDuration(double seconds);
// "1,234,567".
std::string WithCommas(long long number);
// "1.3 GB".
std::string FormatBytes(double bytes);

}  // namespace hagane::cli
