// The Unicode tables as the reference has them, over all code points.
//
// The digests are of Hugging Face tokenizers 0.20.3: for each code point but the surrogates, in
// order, one line "HEX:CLASS\n" where the class is not the default, and FNV-1a (64 bits) over all
// lines. For a normaliser the class is its output in hex, separated by blanks (default: unchanged,
// "="); for words it is s, p or w (white space, punctuation, part of a word; default w) and for
// byte-level words L, N, S or O (goes on after a letter, a digit, neither, or other characters;
// default O).
#include "text/unicode.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "text/bert_normalizer.h"
#include "text/gpt2_words.h"
#include "text/utf8.h"

namespace hagane::text {
namespace {

template <class ClassOf>
std::string Digest(const std::string& default_class, const ClassOf& class_of) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    const std::string name = class_of(c);
    if (name == default_class) continue;
    for (const char byte : fmt::format("{:x}:{}\n", static_cast<uint32_t>(c), name)) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    }
  }
  return fmt::format("{:016x}", hash);
}

std::string Encode(char32_t c) {
  std::string bytes;
  AppendUtf8(c, bytes);
  return bytes;
}

std::string NormalizerDigest(BertNormalizerOptions options) {
  const BertNormalizer normalizer(options);
  NormalizedText normal;
  return Digest("=", [&](char32_t c) {
    const std::string text = Encode(c);
    normalizer.Normalize(text, 0, false, normal);
    if (normal.bytes == text) return std::string("=");
    std::string hex;
    for (size_t pos = 0; pos < normal.bytes.size();) {
      const CodePoint out = DecodeUtf8(normal.bytes, pos);
      hex += fmt::format("{}{:x}", hex.empty() ? "" : " ", static_cast<uint32_t>(out.value));
      pos += out.length;
    }
    return hex;
  });
}

TEST(UnicodeTables, CleaningEqualsTheReferenceForEveryCodePoint) {
  EXPECT_EQ(NormalizerDigest({true, false, false, false}), "1a78f9bc2c84a146");
}
TEST(UnicodeTables, HanBlocksEqualTheReferenceForEveryCodePoint) {
  EXPECT_EQ(NormalizerDigest({false, true, false, false}), "11b173f427b10a4d");
}
TEST(UnicodeTables, AccentStrippingEqualsTheReferenceForEveryCodePoint) {
  EXPECT_EQ(NormalizerDigest({false, false, true, false}), "c42862639f4c5f58");
}
TEST(UnicodeTables, LowerCaseEqualsTheReferenceForEveryCodePoint) {
  EXPECT_EQ(NormalizerDigest({false, false, false, true}), "4de92299d1f57a26");
}

TEST(UnicodeTables, WordBoundariesEqualTheReferenceForEveryCodePoint) {
  const std::string digest = Digest("w", [](char32_t c) -> std::string {
    if (IsWhiteSpace(c)) return "s";
    return IsPunctuation(c) ? "p" : "w";
  });
  EXPECT_EQ(digest, "60aec3da5786c3f8");
}

TEST(UnicodeTables, ByteLevelWordsEqualTheReferenceForEveryCodePoint) {
  const Gpt2Words words;
  const auto is_one_word = [&](const std::string& text) {
    Gpt2Words::Scan scan(words, text);
    return scan.Next().size() == text.size();
  };
  const std::string digest = Digest("O", [&](char32_t c) -> std::string {
    const std::string text = Encode(c);
    if (is_one_word("a" + text)) return "L";
    if (is_one_word("1" + text)) return "N";
    return is_one_word("." + text) ? "O" : "S";
  });
  EXPECT_EQ(digest, "76caf6c527335b95");
}

TEST(UnicodeTables, MarksThatTheReferenceDoesNotKnowAreStarters) {
  EXPECT_EQ(CombiningClass(0x0301), 230);
  EXPECT_EQ(CombiningClass(0x0323), 220);
  EXPECT_EQ(CombiningClass(0x0898), 0);    // Unicode 14
  EXPECT_EQ(CombiningClass(0x08D4), 230);  // Unicode 9, the last that is known
  EXPECT_EQ(Decompose(0x11938).size, 1);   // Unicode 13
}

TEST(UnicodeTables, WordCharactersAreThoseOfARegularExpression) {
  for (const char32_t c : {U'a', U'_', U'7', U'ß', U'\u0301', U'\u200D', U'\u24B6', U'字', U'Ⅷ'}) {
    EXPECT_TRUE(IsWordCharacter(c)) << static_cast<uint32_t>(c);
  }
  for (const char32_t c : {U' ', U'-', U'½', U'€', U'\u200B', U'🦊'}) {
    EXPECT_FALSE(IsWordCharacter(c)) << static_cast<uint32_t>(c);
  }
}

}  // namespace
}  // namespace hagane::text
