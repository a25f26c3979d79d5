// Where libraries say something to people without printing: cli/ passes its own Log in, tests pass
// one that keeps the lines. Not for errors (see base/error.h) and not for results.
#pragma once

#include <string>

namespace hagane {

class Log {
 public:
  virtual ~Log() = default;
  // One line without a newline. Thread safe in every implementation.
  virtual void Info(const std::string& line) = 0;
  virtual void Warning(const std::string& line) = 0;
};

// Drops everything.
class NullLog : public Log {
 public:
  void Info(const std::string&) override {}
  void Warning(const std::string&) override {}
};

}  // namespace hagane
