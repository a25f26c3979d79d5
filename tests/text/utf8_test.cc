#include "text/utf8.h"

#include <gtest/gtest.h>

namespace hagane::text {
namespace {

std::string Valid(std::string_view text) {
  std::string storage;
  return std::string(ValidUtf8(text, storage));
}

TEST(Utf8, EveryCodePointSurvivesEncodingAndDecoding) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string bytes;
    const size_t length = AppendUtf8(c, bytes);
    ASSERT_EQ(length, bytes.size());
    ASSERT_TRUE(IsValidUtf8(bytes)) << static_cast<uint32_t>(c);
    const CodePoint decoded = DecodeUtf8(bytes, 0);
    ASSERT_EQ(decoded.value, c);
    ASSERT_EQ(decoded.length, length);
    ASSERT_EQ(PreviousCodePoint(bytes, length), 0u);
  }
}

TEST(Utf8, ValidTextIsNotCopied) {
  const std::string text = "a long enough text, then naïve 東京 🦊";
  std::string storage;
  EXPECT_EQ(ValidUtf8(text, storage).data(), text.data());
  EXPECT_EQ(CountCodePoints(text), 35u);
}

TEST(Utf8, EachInvalidByteBecomesOneReplacementCharacter) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(Valid("a\xFF"
                  "b"),
            "a" + r + "b");
  EXPECT_EQ(Valid("\x80\x80"), r + r);
  EXPECT_EQ(Valid("cut \xE2\x82"), "cut " + r + r);
  EXPECT_EQ(Valid("overlong \xC0\xAF."), "overlong " + r + r + ".");
  EXPECT_EQ(Valid("surrogate \xED\xA0\x80!"), "surrogate " + r + r + r + "!");
  EXPECT_EQ(Valid("beyond \xF4\x90\x80\x80"), "beyond " + r + r + r + r);
  EXPECT_EQ(Valid("\xE2\x82\xC3\xA9"), r + r + "é");
}

}  // namespace
}  // namespace hagane::text
