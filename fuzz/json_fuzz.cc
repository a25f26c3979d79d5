// JSON as config.json is read; what was accepted must survive being written and read again.
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "io/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto value = hagane::io::ParseJson(text, "input", hagane::io::kConfigLimits);
    const std::string written = hagane::io::DumpPython(value, 2, false);
    hagane::io::JsonLimits limits = hagane::io::kConfigLimits;
    limits.max_bytes = written.size();  // escapes and indentation take more than the original
    if (hagane::io::ParseJson(written, "written", limits) != value) abort();
  } catch (const hagane::Error&) {
  }
  return 0;
}
