// What libFuzzer calls, of every target.
#include "base/error.h"
#include "fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  try {
    hagane::fuzz::Read({reinterpret_cast<const char*>(data), size});
  } catch (const hagane::Error& error) {
    // The sentence is for a terminal: no control character of the file may be in it.
    for (const char c : std::string_view(error.what())) {
      hagane::fuzz::Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    }
  }
  return 0;
}
