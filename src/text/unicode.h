// What the reference's normaliser and pre-tokeniser think of a code point. Its category tables are
// of Unicode 8 and its canonical decomposition of Unicode 9, while utf8proc is newer;
// unicode_ranges.h holds the difference.
#pragma once

#include <array>
#include <cstdint>

namespace hagane::text {

bool IsWhiteSpace(char32_t c);       // the property White_Space
bool IsPunctuation(char32_t c);      // P*, and the ASCII symbols $ + < = > ^ ` | ~
bool IsInvisible(char32_t c);        // what cleaning removes: NUL, U+FFFD, Cc, Cf, Co but \t \n \r
bool IsNonspacingMark(char32_t c);   // Mn
bool IsChinese(char32_t c);          // Han blocks, with the reference's gap at U+2B820..2B91F
bool IsWordCharacter(char32_t c);    // \w of a Unicode regular expression
uint8_t CombiningClass(char32_t c);  // 0: a starter

// One character turned into one or more.
struct Expansion {
  std::array<char32_t, 4> chars;
  int size;
};

Expansion Decompose(char32_t c);  // canonical, to the end (NFD), Hangul included
Expansion ToLower(char32_t c);    // alone, without a look at its neighbours: no final sigma

}  // namespace hagane::text
