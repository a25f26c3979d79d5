// Text from a file, made fit for a message: control characters would reach the user's terminal.
#pragma once

#include <string>
#include <string_view>

namespace hagane::io {

// Control bytes as \xNN; longer than `longest` bytes is cut, with "..." behind.
std::string Printable(std::string_view text, size_t longest = 120);

}  // namespace hagane::io
