#include "data/python_text.h"

#include <utf8proc.h>

#include "text/unicode.h"
#include "text/utf8.h"

namespace hagane::data {
namespace {

utf8proc_category_t Category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool IsCased(char32_t c) {
  switch (Category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
      return true;
    default:
      return (c >= 0x2160 && c <= 0x217F) || (c >= 0x24B6 && c <= 0x24E9);  // Roman, circled
  }
}

bool IsCaseIgnorable(char32_t c) {
  switch (Category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2018 || c == 0x2019 ||
             c == 0x2024 || c == 0x2027;
  }
}

// Whether the capital sigma at [begin, end) ends a word: only then its lower case is the final one.
bool IsFinalSigma(std::string_view text, size_t begin, size_t end) {
  bool cased_before = false;
  while (begin > 0) {
    begin = text::PreviousCodePoint(text, begin);
    const char32_t c = text::DecodeUtf8(text, begin).value;
    if (IsCaseIgnorable(c)) continue;
    cased_before = IsCased(c);
    break;
  }
  if (!cased_before) return false;
  while (end < text.size()) {
    const text::CodePoint c = text::DecodeUtf8(text, end);
    if (!IsCaseIgnorable(c.value)) return !IsCased(c.value);
    end += c.length;
  }
  return true;
}

}  // namespace

bool IsPythonSpace(char32_t c) { return text::IsWhiteSpace(c) || (c >= 0x1C && c <= 0x1F); }

bool IsPythonWord(char32_t c) {
  if (c < 0x80)
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  const utf8proc_category_t category = Category(c);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
         (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

std::string PythonLower(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const text::CodePoint c = text::DecodeUtf8(text, i);
    if (c.value < 0x80) {
      const char byte = text[i];
      lower += byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte;
    } else if (c.value == 0x130) {  // the one letter whose lower case is two
      text::AppendUtf8('i', lower);
      text::AppendUtf8(0x307, lower);
    } else if (c.value == 0x3A3) {
      text::AppendUtf8(IsFinalSigma(text, i, i + c.length) ? 0x3C2 : 0x3C3, lower);
    } else {
      text::AppendUtf8(
          static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.value))), lower);
    }
    i += c.length;
  }
  return lower;
}

std::string_view WithoutLeadingBlanks(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const text::CodePoint c = text::DecodeUtf8(text, i);
    if (!IsPythonSpace(c.value)) break;
    i += c.length;
  }
  return text.substr(i);
}

}  // namespace hagane::data
