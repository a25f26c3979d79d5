// UTF-8 and code points. Everything in this room works on valid UTF-8: Tokenize makes its text
// valid first, so that the loops behind it need no checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hagane::text {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// `text` itself when it is valid UTF-8; otherwise a copy in `storage` in which every byte that is
// not part of a well-formed sequence is one U+FFFD (a cut three-byte character gives two of them).
std::string_view ValidUtf8(std::string_view text, std::string& storage);
bool IsValidUtf8(std::string_view text);

inline bool IsContinuationByte(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// Code points of valid UTF-8.
inline size_t CountCodePoints(std::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += !IsContinuationByte(byte);
  return count;
}

// Numbers of code points by the byte they begin at. Places are mostly asked for in ascending order;
// then each byte is looked at once.
class CodePointCounter {
 public:
  // `text`: valid UTF-8 that outlives this.
  explicit CodePointCounter(std::string_view text) : text_(text) {}

  int32_t At(size_t byte) {
    if (byte < counted_) counted_ = number_ = 0;
    number_ += CountCodePoints(text_.substr(counted_, byte - counted_));
    counted_ = byte;
    return static_cast<int32_t>(number_);
  }

 private:
  std::string_view text_;
  size_t counted_ = 0, number_ = 0;
};

struct CodePoint {
  char32_t value;
  size_t length;  // bytes
};

// The code point that starts at text[pos]; valid UTF-8.
inline CodePoint DecodeUtf8(std::string_view text, size_t pos) {
  const auto byte = [&](size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[pos + i]));
  };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F),
          4};
}

// The start of the code point that ends before text[pos], pos > 0; valid UTF-8.
inline size_t PreviousCodePoint(std::string_view text, size_t pos) {
  do --pos;
  while (pos > 0 && IsContinuationByte(text[pos]));
  return pos;
}

// Appends `c` and returns the number of bytes.
inline size_t AppendUtf8(char32_t c, std::string& out) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c), 1;
  if (c < 0x800) return put(0xC0 | c >> 6), put(0x80 | (c & 0x3F)), 2;
  if (c < 0x10000)
    return put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F)), 3;
  return put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)),
         put(0x80 | (c & 0x3F)), 4;
}

}  // namespace hagane::text
