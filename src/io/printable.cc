#include "io/printable.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>

namespace hagane::io {

std::string Printable(std::string_view text, size_t longest) {
  std::string shown;
  size_t i = 0;
  while (i < std::min(text.size(), longest)) {
    utf8proc_int32_t code = -1;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + i),
                                         static_cast<utf8proc_ssize_t>(text.size() - i), &code);
    if (length <= 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
      ++i;
    } else {
      shown += text.substr(i, static_cast<size_t>(length));
      i += static_cast<size_t>(length);
    }
  }
  if (i < text.size()) shown += "...";
  return shown;
}

}  // namespace hagane::io
