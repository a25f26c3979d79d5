// JSON; what was accepted must survive being written and read again.
#include <nlohmann/json.hpp>

#include "fuzz/input.h"
#include "io/json.h"

void hagane::fuzz::Read(std::string_view input) {
  io::JsonLimits limits = io::kConfigLimits;
  limits.python_constants = TakeByte(input) % 2 != 0;
  const auto value = io::ParseJson(input, "input", limits);
  const std::string written = io::DumpPython(value, 2, false);
  limits.max_bytes = written.size();  // escapes and indentation take more than the original
  const auto again = io::ParseJson(written, "written", limits);
  Require(io::DumpPython(again, 2, false) == written);  // not ==: NaN differs from itself
}
