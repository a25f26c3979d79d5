// The known word that somebody may have meant, for hints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hagane::data {

// The word with the fewest edits (ASCII case does not count), or empty when none is near.
std::string Nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace hagane::data
