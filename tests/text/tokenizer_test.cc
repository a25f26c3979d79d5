#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include "tests/text/text_test_util.h"
#include "text/byte_level_bpe.h"
#include "text/wordpiece.h"

namespace hagane::text {
namespace {

TEST(TruncateLongestFirst, SharesByFloorAndCeiling) {
  using P = std::pair<int, int>;
  EXPECT_EQ(TruncateLongestFirst(10, 10, 9), P(4, 5));
  EXPECT_EQ(TruncateLongestFirst(9, 8, 10), P(5, 5));
  EXPECT_EQ(TruncateLongestFirst(6, 5, 9), P(5, 4));
  EXPECT_EQ(TruncateLongestFirst(3, 10, 9), P(3, 6));
  EXPECT_EQ(TruncateLongestFirst(10, 3, 9), P(6, 3));
  EXPECT_EQ(TruncateLongestFirst(4, 5, 9), P(4, 5));
  EXPECT_EQ(TruncateLongestFirst(0, 7, 0), P(0, 0));
}

TEST(TruncateLongestFirst, FillsTheBudgetExactlyAndNeverLengthens) {
  for (int a = 0; a <= 12; ++a) {
    for (int b = 0; b <= 12; ++b) {
      for (int budget = 0; budget <= 26; ++budget) {
        const auto [keep_a, keep_b] = TruncateLongestFirst(a, b, budget);
        EXPECT_EQ(keep_a + keep_b, std::min(a + b, budget));
        EXPECT_TRUE(keep_a >= 0 && keep_a <= a && keep_b >= 0 && keep_b <= b)
            << a << ' ' << b << ' ' << budget;
      }
    }
  }
}

class EncodeTest : public testing::Test {
 protected:
  EncodeTest() {
    folder_.Write("vocab.txt", Lines({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"}));
  }
  TestFolder folder_;
};

TEST_F(EncodeTest, PutsTheTemplateAroundOneTextAndAPair) {
  const auto tokenizer = Load(folder_.path(), "bert");
  const Encoding single = tokenizer->Encode("a b", nullptr, 0, true);
  EXPECT_EQ(single.ids, (std::vector<int32_t>{2, 5, 6, 3}));
  EXPECT_EQ(single.offsets, (std::vector<Offset>{{0, 0}, {0, 1}, {2, 3}, {0, 0}}));
  EXPECT_FALSE(single.truncated);
  const std::string_view second = "b";
  const Encoding pair = tokenizer->Encode("a a", &second, 0, false);
  EXPECT_EQ(pair.ids, (std::vector<int32_t>{2, 5, 5, 3, 6, 3}));
  EXPECT_EQ(pair.type_ids, (std::vector<int32_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(pair.sequence_ids, (std::vector<int8_t>{-1, 0, 0, -1, 1, -1}));
  EXPECT_TRUE(pair.offsets.empty());
}

TEST_F(EncodeTest, CutsToTheGivenLengthWithItsSpecialTokens) {
  const auto tokenizer = Load(folder_.path(), "bert");
  EXPECT_EQ(tokenizer->special_tokens(false), 2);
  EXPECT_EQ(tokenizer->special_tokens(true), 3);
  const Encoding cut = tokenizer->Encode("a b a b", nullptr, 4, true);
  EXPECT_EQ(cut.ids, (std::vector<int32_t>{2, 5, 6, 3}));
  EXPECT_TRUE(cut.truncated);
  const std::string_view second = "b b b b";
  EXPECT_EQ(tokenizer->Encode("a a a", &second, 7, true).ids,
            (std::vector<int32_t>{2, 5, 5, 3, 6, 6, 3}));
  EXPECT_EQ(tokenizer->Encode("a a a", &second, 2, true).ids, (std::vector<int32_t>{2, 3, 3}));
}

TEST_F(EncodeTest, FingerprintFollowsWhateverDecidesTheIds) {
  const std::string plain = Load(folder_.path(), "bert")->fingerprint();
  EXPECT_EQ(plain.size(), 32u);
  EXPECT_EQ(Load(folder_.path(), "bert")->fingerprint(), plain);
  folder_.Write("tokenizer_config.json", R"({"do_lower_case": false})");
  const std::string cased = Load(folder_.path(), "bert")->fingerprint();
  EXPECT_NE(cased, plain);
  folder_.Write("tokenizer_config.json", R"({"do_lower_case": true})");
  EXPECT_EQ(Load(folder_.path(), "bert")->fingerprint(), plain);
  folder_.Write("vocab.txt", Lines({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "b", "a"}));
  EXPECT_NE(Load(folder_.path(), "bert")->fingerprint(), plain);
}

// <mask> takes the blanks behind it and so reaches into the token that begins with them; what
// follows must still be where it is in the text.
template <class Tokenizer>
void ExpectTrueOffsetsBehindAnOverlap(TokenizerSpec spec) {
  spec.added_tokens = {{.content = "<mask>", .id = 1, .rstrip = true}, {.content = " -", .id = 2}};
  const Tokens tokens = Tokenizer(spec).Tokenize("<mask>  -a", true);
  ASSERT_EQ(tokens.ids, (std::vector<int32_t>{1, 2, 0}));
  EXPECT_EQ(tokens.offsets[1].begin, 7);
  EXPECT_EQ(tokens.offsets[1].end, 9);
  EXPECT_EQ(tokens.offsets[2].begin, 9);
  EXPECT_EQ(tokens.offsets[2].end, 10);
}

TEST(TokenizerTest, OffsetsHoldBehindAddedTokensThatOverlap) {
  TokenizerSpec spec;
  spec.vocabulary.Add("a", 0);
  spec.vocabulary.Add("<mask>", 1);
  spec.vocabulary.Add(" -", 2);
  spec.vocabulary.Add("[UNK]", 3);
  spec.post = {.cls_id = 3, .sep_id = 3};
  spec.byte_level.trim_offsets = false;
  ExpectTrueOffsetsBehindAnOverlap<ByteLevelBpeTokenizer>(spec);
  ExpectTrueOffsetsBehindAnOverlap<WordPieceTokenizer>(spec);
}

}  // namespace
}  // namespace hagane::text
