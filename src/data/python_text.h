// Text as Python's str methods and re see it: what the reference's scores depend on.
#pragma once

#include <string>
#include <string_view>

namespace hagane::data {

// All take and give valid UTF-8.
bool IsPythonSpace(char32_t c);                                // str.isspace
bool IsPythonWord(char32_t c);                                 // \w
std::string PythonLower(std::string_view text);                // str.lower
std::string_view WithoutLeadingBlanks(std::string_view text);  // str.lstrip

}  // namespace hagane::data
