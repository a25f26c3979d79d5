// What long loops of this room throw when they are asked to stop: nothing is wrong, so it is not an
// hagane::Error.
#pragma once

#include <exception>

namespace hagane::data {

class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

}  // namespace hagane::data
