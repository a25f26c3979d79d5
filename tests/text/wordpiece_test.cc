// WordPiece by hand-made vocabularies: what each step of the pipeline does to ids and offsets.
#include <gtest/gtest.h>

#include "tests/text/text_test_util.h"
#include "text/bert_normalizer.h"
#include "text/utf8.h"

namespace hagane::text {
namespace {

const std::vector<std::string> kTokens = {
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "e",   "##x", "strasse", "stra",
    "##ß",   "##e",   "σας",   "σασ",   "i",      "##i", "ᄒ",  "##ᅡ",    "##ᆫ",
    "ab",    "##c",   "东",    "\"",    "$",      "가",  "new", "##new",   "E"};

class WordPieceTest : public testing::Test {
 protected:
  static int32_t Id(const std::string& token) {
    for (size_t i = 0; i < kTokens.size(); ++i) {
      if (kTokens[i] == token) return static_cast<int32_t>(i);
    }
    ADD_FAILURE() << token;
    return -1;
  }
  // "token(begin,end) ..." of the tokens without specials.
  std::string Run(const std::string& text, const std::string& config = "{}") {
    folder_.Write("vocab.txt", Lines(kTokens)).Write("tokenizer_config.json", config);
    const Tokens tokens = Load(folder_.path(), "bert")->Tokenize(text, true);
    std::string result;
    for (size_t i = 0; i < tokens.ids.size(); ++i) {
      if (i > 0) result += ' ';
      result += kTokens[static_cast<size_t>(tokens.ids[i])] + "(" +
                std::to_string(tokens.offsets[i].begin) + "," +
                std::to_string(tokens.offsets[i].end) + ")";
    }
    return result;
  }
  TestFolder folder_;
};

TEST_F(WordPieceTest, SharpSStaysOneLetter) {
  EXPECT_EQ(Run("STRAßE"), "stra(0,4) ##ß(4,5) ##e(5,6)");
}

TEST_F(WordPieceTest, SigmaAtTheEndOfAWordIsAnOrdinarySigma) {
  EXPECT_EQ(Run("ΣΑΣ"), "σασ(0,3)");
  EXPECT_EQ(Run("ΣΑς"), "σας(0,3)");
}

TEST_F(WordPieceTest, DottedCapitalIIsPlainWhenAccentsGoAndTwoCharactersWhenTheyStay) {
  EXPECT_EQ(Run("İ"), "i(0,1)");
  EXPECT_EQ(Run("İ", R"({"strip_accents": false})"), "[UNK](0,1)");
}

TEST_F(WordPieceTest, HangulFallsApartIntoJamoUnlessAccentsStay) {
  EXPECT_EQ(Run("한"), "ᄒ(0,1) ##ᅡ(0,1) ##ᆫ(0,1)");
  EXPECT_EQ(Run("가", R"({"do_lower_case": false})"), "가(0,1)");
}

TEST_F(WordPieceTest, OffsetsAreThoseOfTheOriginalCharacters) {
  EXPECT_EQ(Run("Éx"), "e(0,1) ##x(1,2)");
  EXPECT_EQ(Run("e\u0301x"), "e(0,1) ##x(2,3)");
  EXPECT_EQ(Run("a\u200Bb\u00ADc"), "ab(0,3) ##c(4,5)");  // format characters vanish and join
  EXPECT_EQ(Run("x东ab"), "[UNK](0,1) 东(1,2) ab(2,4)");
}

TEST_F(WordPieceTest, MarksThatSurviveAreSortedAndTakeTheSourcesInTextOrder) {
  // U+302E (class 224) and U+1D165 (216) are spacing marks; U+0344 falls apart and vanishes.
  const BertNormalizer normalizer({});
  NormalizedText normal;
  const auto first_sources = [&] {
    std::vector<int32_t> sources;
    for (size_t i = 0; i < normal.bytes.size(); ++i) {
      if (!IsContinuationByte(normal.bytes[i])) sources.push_back(normal.sources[i].begin);
    }
    return sources;
  };
  normalizer.Normalize("a\u302E\U0001D165", 0, true, normal);
  EXPECT_EQ(normal.bytes, "a\U0001D165\u302E");
  EXPECT_EQ(first_sources(), (std::vector<int32_t>{0, 1, 2}));
  normalizer.Normalize("\u0344\U0001D165\u302E", 5, true, normal);
  EXPECT_EQ(normal.bytes, "\U0001D165\u302E");
  EXPECT_EQ(first_sources(), (std::vector<int32_t>{5, 6}));
}

TEST_F(WordPieceTest, OneUnmatchedPieceMakesTheWholeWordUnknown) {
  EXPECT_EQ(Run("abcq ab"), "[UNK](0,4) ab(5,7)");
  EXPECT_EQ(Run("ab\"c"), "ab(0,2) \"(2,3) [UNK](3,4)");
}

TEST_F(WordPieceTest, WordsOverAHundredCharactersAreUnknown) {
  const std::string long_word = "e" + std::string(99, 'x');
  EXPECT_EQ(Load(folder_.Write("vocab.txt", Lines(kTokens)).path(), "bert")
                ->Tokenize(long_word, false)
                .ids.size(),
            100u);
  EXPECT_EQ(Run(long_word + "x"), "[UNK](0,101)");
  std::string two_byte_word = "e";  // a hundred characters, but more bytes
  for (int i = 0; i < 99; ++i) two_byte_word += "é";
  EXPECT_EQ(Run(two_byte_word).substr(0, 19), "e(0,1) ##e(1,2) ##e");
}

TEST_F(WordPieceTest, SpecialTokensInTheTextKeepTheirIdInExactCaseOnly) {
  EXPECT_EQ(Run("ab[SEP]ab"), "ab(0,2) [SEP](2,7) ab(7,9)");
  EXPECT_EQ(Run("[sep]"), "[UNK](0,1) [UNK](1,4) [UNK](4,5)");
}

TEST_F(WordPieceTest, CasedModelsKeepCase) {
  EXPECT_EQ(Run("E e", R"({"do_lower_case": false})"), "E(0,1) e(2,3)");
  EXPECT_EQ(Run("E e"), "e(0,1) e(2,3)");
}

TEST_F(WordPieceTest, InvalidBytesVanishAndCountAsOneCharacterEach) {
  EXPECT_EQ(Run("ab\xFF\xFE"
                "c ab"),
            "ab(0,2) ##c(4,5) ab(6,8)");
}

TEST_F(WordPieceTest, NormalizedAddedTokensAreFoundInTheNormalizedText) {
  folder_.Write("added_tokens.json", R"({"New": 27})");
  folder_.Write("vocab.txt", Lines(kTokens));
  const auto tokenizer = Load(folder_.path(), "bert");
  EXPECT_EQ(tokenizer->vocab_size(), 28);
  const Tokens tokens = tokenizer->Tokenize("ab NÉW ab", true);
  EXPECT_EQ(tokens.ids, (std::vector<int32_t>{Id("ab"), 27, Id("ab")}));
  EXPECT_EQ(tokens.offsets[1], (Offset{3, 6}));
}

TEST_F(WordPieceTest, EmptyAndBlankTextsHaveNoTokens) {
  EXPECT_EQ(Run(""), "");
  EXPECT_EQ(Run(" \t\n\u3000\u2028"), "");
}

}  // namespace
}  // namespace hagane::text
