// A hint for errors of rooms that do not know what the file was for.
#pragma once

#include <string>

#include "base/error.h"

namespace hagane::cli {

// action(); an Error without a hint gets this one.
template <class Action>
auto WithHint(const std::string& hint, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    if (!error.hint().empty()) throw;
    throw Error(error.what(), hint, error.kind());
  }
}

}  // namespace hagane::cli
