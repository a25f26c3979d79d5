#include "text/utf8.h"

#include <utf8proc.h>

#include <cstdint>
#include <cstring>

namespace hagane::text {
namespace {

// Length of the valid beginning of `text` from `pos` on.
size_t ValidPrefix(std::string_view text, size_t pos) {
  while (pos < text.size()) {
    uint64_t eight;
    if (text.size() - pos >= sizeof(eight)) {
      std::memcpy(&eight, text.data() + pos, sizeof(eight));
      if ((eight & 0x8080808080808080u) == 0) {
        pos += sizeof(eight);
        continue;
      }
    }
    utf8proc_int32_t c;
    const auto length =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + pos,
                         static_cast<utf8proc_ssize_t>(text.size() - pos), &c);
    if (length <= 0) return pos;
    pos += static_cast<size_t>(length);
  }
  return pos;
}

}  // namespace

bool IsValidUtf8(std::string_view text) { return ValidPrefix(text, 0) == text.size(); }

std::string_view ValidUtf8(std::string_view text, std::string& storage) {
  size_t valid = ValidPrefix(text, 0);
  if (valid == text.size()) return text;
  storage.assign(text.substr(0, valid));
  while (valid < text.size()) {
    AppendUtf8(kReplacementCharacter, storage);
    const size_t next = ValidPrefix(text, valid + 1);
    storage.append(text.substr(valid + 1, next - valid - 1));
    valid = next;
  }
  return storage;
}

}  // namespace hagane::text
