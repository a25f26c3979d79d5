#include "io/printable.h"

#include <fmt/format.h>

namespace hagane::io {

std::string Printable(std::string_view text, size_t longest) {
  std::string shown;
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += c;
    }
  }
  if (text.size() > longest) shown += "...";
  return shown;
}

}  // namespace hagane::io
