#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "text/unicode_ranges.h"
#include "text/utf8.h"

namespace hagane::text {
namespace {

template <size_t N>
bool InRanges(const CodePointRange (&ranges)[N], char32_t c) {
  const auto* range =
      std::lower_bound(std::begin(ranges), std::end(ranges), c,
                       [](const CodePointRange& r, char32_t x) { return r.last < x; });
  return range != std::end(ranges) && range->first <= c;
}

int Category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool IsLetterOrMark(int category) {
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME;
}

}  // namespace

bool IsWhiteSpace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  if (c == 0x85) return true;
  const int category = Category(c);
  return category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP;
}

bool IsPunctuation(char32_t c) {
  if (c < 0x80)
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
           (c >= 123 && c <= 126);
  const int category = Category(c);
  if (category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO) {
    return !InRanges(kUnknownCategory, c);
  }
  return std::find(std::begin(kWasPunctuation), std::end(kWasPunctuation), c) !=
         std::end(kWasPunctuation);
}

bool IsInvisible(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  if (c == kReplacementCharacter) return true;
  const int category = Category(c);
  if (category == UTF8PROC_CATEGORY_CF) return !InRanges(kUnknownCategory, c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CO;
}

bool IsNonspacingMark(char32_t c) {
  if (Category(c) == UTF8PROC_CATEGORY_MN) return !InRanges(kUnknownCategory, c);
  return c == kWasNonspacingMark;
}

bool IsChinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B81F) ||
         (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

bool IsWordCharacter(char32_t c) {
  const int category = Category(c);
  if (IsLetterOrMark(category) || category == UTF8PROC_CATEGORY_ND ||
      category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC) {
    return true;
  }
  return c == 0x200C || c == 0x200D ||                                      // joiners
         (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||  // enclosed letters
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

uint8_t CombiningClass(char32_t c) {
  const auto combining_class =
      utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
  if (combining_class == 0 || InRanges(kUnknownDecomposition, c)) return 0;
  return static_cast<uint8_t>(combining_class);
}

Expansion Decompose(char32_t c) {
  Expansion result{{c}, 1};
  if (InRanges(kUnknownDecomposition, c)) return result;
  utf8proc_int32_t decomposed[4];
  int boundary_class = 0;
  const auto size = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), decomposed, 4,
                                            UTF8PROC_DECOMPOSE, &boundary_class);
  HAGANE_CHECK(size >= 1 && size <= 4, "no canonical decomposition is longer than four");
  result.size = static_cast<int>(size);
  for (int i = 0; i < result.size; ++i)
    result.chars[static_cast<size_t>(i)] = static_cast<char32_t>(decomposed[i]);
  return result;
}

Expansion ToLower(char32_t c) {
  if (c == 0x130) return {{'i', 0x307}, 2};  // the only character whose lower case is two
  return {{static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)))}, 1};
}

}  // namespace hagane::text
