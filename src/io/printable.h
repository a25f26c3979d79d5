// Text from a file, made fit for a message: control characters would reach the user's terminal.
#pragma once

#include <string>
#include <string_view>

namespace hagane::io {

// Control characters and bytes that are no UTF-8 as \xNN; longer than `longest` bytes is cut behind
// a whole character, with "..." there.
std::string Printable(std::string_view text, size_t longest = 120);

}  // namespace hagane::io
