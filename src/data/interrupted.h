// What is thrown where the run is asked to stop: nothing is wrong, so it is not an hagane::Error.
#pragma once

#include <exception>

#include "base/run_context.h"

namespace hagane::data {

class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

inline void StopIfAsked(const RunContext& ctx) {
  if (ctx.StopRequested()) throw Interrupted();
}

}  // namespace hagane::data
