// Errors. Two kinds, never mixed:
//   - what a user, a file or the network did is an hagane::Error (an exception): one sentence that
//     says what is wrong, where (file:row, tensor, host, rank) and, as the hint, what to do. Only
//     cli/ catches it, prints it and turns its kind into the exit code.
//   - a broken invariant (a bug in hagane) is a HAGANE_CHECK: it aborts with file, line and values.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace hagane {

enum class ErrorKind {
  kFailed,  // exit code 1: a file, the data, the machine or the network
  kUsage,   // exit code 2: the command line
};

class Error : public std::runtime_error {
 public:
  // `message`: one sentence without a final period. `hint`: what to do, may be empty.
  explicit Error(const std::string& message, std::string hint = "",
                 ErrorKind kind = ErrorKind::kFailed)
      : std::runtime_error(message), hint_(std::move(hint)), kind_(kind) {}

  const std::string& hint() const { return hint_; }
  ErrorKind kind() const { return kind_; }

 private:
  std::string hint_;
  ErrorKind kind_;
};

// A wrong command line (exit code 2).
inline Error UsageError(const std::string& message, std::string hint = "") {
  return Error(message, std::move(hint), ErrorKind::kUsage);
}

// action(); an Error of it without a hint gets this one: for callers that know what a file was for.
template <class Action>
auto WithHint(const std::string& hint, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    if (!error.hint().empty()) throw;
    throw Error(error.what(), hint, error.kind());
  }
}

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view detail);

}  // namespace hagane

// Aborts when a programmer's assumption does not hold; never reachable by user input.
#define HAGANE_CHECK(condition, ...)                                                        \
  do {                                                                                      \
    if (!(condition))                                                                       \
      ::hagane::CheckFailed(__FILE__, __LINE__, #condition, std::string_view{__VA_ARGS__}); \
  } while (false)
