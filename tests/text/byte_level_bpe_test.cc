// Byte-level BPE with a hand-made vocabulary: 256 bytes, a few merges.
#include "text/byte_level_bpe.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/text/text_test_util.h"
#include "text/gpt2_words.h"

namespace hagane::text {
namespace {

std::vector<std::string> Words(const std::string& text) {
  const Gpt2Words words;
  Gpt2Words::Scan scan(words, text);
  std::vector<std::string> result;
  for (std::string_view word = scan.Next(); !word.empty(); word = scan.Next())
    result.emplace_back(word);
  return result;
}

TEST(Gpt2Words, SplitsAsThePatternSays) {
  using V = std::vector<std::string>;
  EXPECT_EQ(Words("Don't we'LL"), (V{"Don", "'t", " we", "'", "LL"}));
  EXPECT_EQ(Words("a  b"), (V{"a", " ", " b"}));  // the last blank goes with the word
  EXPECT_EQ(Words("a \n b  "), (V{"a", " \n", " b", "  "}));
  EXPECT_EQ(Words("x1½²y"), (V{"x", "1½²", "y"}));  // all of \p{N}
  EXPECT_EQ(Words("e\u0301"), (V{"e", "\u0301"}));  // a mark is no letter
  EXPECT_EQ(Words("a\u00A0b\tc"), (V{"a", "\u00A0", "b", "\t", "c"}));
  EXPECT_EQ(Words("日本🦊!"), (V{"日本", "🦊!"}));
  EXPECT_EQ(Words(""), V{});
}

TEST(Gpt2Words, MongolianVowelSeparatorIsNoWhiteSpace) {
  EXPECT_EQ(Words("\u180E."), (std::vector<std::string>{"\u180E."}));
}

TEST(ByteAlphabet, IsPrintableAndDistinct) {
  const auto alphabet = ByteAlphabet();
  EXPECT_EQ(alphabet[' '], "Ġ");
  EXPECT_EQ(alphabet['\n'], "Ċ");
  EXPECT_EQ(alphabet['A'], "A");
  EXPECT_EQ(alphabet[0xAD], "Ń");
  EXPECT_EQ(alphabet[0xFF], "ÿ");
  for (size_t a = 0; a < 256; ++a) {
    for (size_t b = 0; b < a; ++b) EXPECT_NE(alphabet[a], alphabet[b]);
  }
}

using Json = nlohmann::ordered_json;

class ByteLevelBpeTest : public testing::Test {
 protected:
  ByteLevelBpeTest() {
    Json vocabulary;
    const auto add = [&](const std::string& token) {
      vocabulary[token] = tokens_.size();
      tokens_.push_back(token);
    };
    for (const char* token : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}) add(token);
    for (const std::string& byte : ByteAlphabet()) add(byte);
    for (const char* token : {"lo", "Ġlo", "low", "Ġlow", "Ã©"}) add(token);
    folder_.Write("vocab.json", vocabulary.dump());
    folder_.Write("merges.txt", "#version: 0.2\nl o\nĠ lo\nlo w\nĠlo w\nÃ ©\n");
  }
  std::string Run(const std::string& text, const std::string& config = "{}") {
    folder_.Write("tokenizer_config.json", config);
    const Tokens tokens = Load(folder_.path(), "roberta")->Tokenize(text, true);
    std::string result;
    for (size_t i = 0; i < tokens.ids.size(); ++i) {
      if (i > 0) result += ' ';
      result += tokens_[static_cast<size_t>(tokens.ids[i])] + "(" +
                std::to_string(tokens.offsets[i].begin) + "," +
                std::to_string(tokens.offsets[i].end) + ")";
    }
    return result;
  }
  TestFolder folder_;
  std::vector<std::string> tokens_;
};

TEST_F(ByteLevelBpeTest, MergesByRankAndTrimsOffsets) {
  EXPECT_EQ(Run("low low"), "low(0,3) Ġlow(4,7)");
  EXPECT_EQ(Run("low low", R"({"trim_offsets": false})"), "low(0,3) Ġlow(3,7)");
  EXPECT_EQ(Run("  lo"), "Ġ(1,1) Ġlo(2,4)");
}

TEST_F(ByteLevelBpeTest, PiecesOfACharacterShareItsOffsets) {
  EXPECT_EQ(Run("é€x"), "Ã©(0,1) â(1,2) Ĥ(1,2) ¬(1,2) x(2,3)");
}

TEST_F(ByteLevelBpeTest, PrefixSpaceStandsForNoCharacter) {
  EXPECT_EQ(Run("low", R"({"add_prefix_space": true})"), "Ġlow(0,3)");
  EXPECT_EQ(Run(" low", R"({"add_prefix_space": true})"), "Ġlow(0,4)");
  EXPECT_EQ(Run("low", R"({"add_prefix_space": true, "trim_offsets": false})"), "Ġlow(0,3)");
}

TEST_F(ByteLevelBpeTest, MaskTakesTheBlanksOnItsLeft) {
  EXPECT_EQ(Run("lo \t<mask> lo"), "lo(0,2) <mask>(4,10) Ġlo(11,13)");
  // As in the reference: at the start a lone blank passes for the prefix space, several do not.
  EXPECT_EQ(Run("   <mask>", R"({"add_prefix_space": true})"), "<mask>(3,9)");
  EXPECT_EQ(Run(" <mask>", R"({"add_prefix_space": true})"), "<mask>(0,7)");
  EXPECT_EQ(Run("lo</s>lo"), "lo(0,2) </s>(2,6) lo(6,8)");
}

TEST_F(ByteLevelBpeTest, InvalidBytesAreReplacementCharacters) {
  EXPECT_EQ(Run("lo\xFFlo"), "lo(0,2) ï(2,3) ¿(2,3) ½(2,3) lo(3,5)");
}

TEST_F(ByteLevelBpeTest, LongRunsWithoutBlanksAreMergedToo) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "low";
  const Tokens tokens = Load(folder_.path(), "roberta")->Tokenize(text, true);
  ASSERT_EQ(tokens.ids.size(), 20000u);
  EXPECT_EQ(tokens.offsets.back(), (Offset{59997, 60000}));
}

TEST_F(ByteLevelBpeTest, PairsHaveTwoSeparatorsAndNoTypes) {
  const std::string_view second = "low";
  const Encoding encoding = Load(folder_.path(), "roberta")->Encode("lo", &second, 0, true);
  const auto id = [&](const char* token) {
    return static_cast<int32_t>(std::find(tokens_.begin(), tokens_.end(), token) - tokens_.begin());
  };
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{0, id("lo"), 2, 2, id("low"), 2}));
  EXPECT_EQ(encoding.type_ids, std::vector<int32_t>(6, 0));
  EXPECT_EQ(encoding.sequence_ids, (std::vector<int8_t>{-1, 0, -1, -1, 1, -1}));
}

TEST_F(ByteLevelBpeTest, DamagedMergesAreNamedByFileAndLine) {
  folder_.Write("merges.txt", "#version: 0.2\nl o\nl x y\n");
  EXPECT_EQ(LoadError(folder_.path(), "roberta"),
            (folder_.path() / "merges.txt").string() +
                ":3: a merge must be two tokens with a blank between");
  folder_.Write("merges.txt", "#version: 0.2\nl o\nlo lo\n");
  EXPECT_EQ(LoadError(folder_.path(), "roberta"),
            (folder_.path() / "merges.txt").string() +
                ":3: the merge of 'lo' and 'lo' needs 'lolo', which is not in the vocabulary");
}

// The same vocabulary and merges as tokenizer.json has them.
class ByteLevelBpeJsonTest : public ByteLevelBpeTest {
 protected:
  ByteLevelBpeJsonTest() {
    for (const char* name : {"vocab.json", "merges.txt"}) {
      std::filesystem::remove(folder_.path() / name);
    }
    json_ = Json::parse(R"({
      "added_tokens": [{"id": 4, "content": "<mask>", "single_word": false, "lstrip": true,
                        "rstrip": false, "normalized": false, "special": true}],
      "normalizer": null,
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
      "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0],
                         "trim_offsets": true, "add_prefix_space": false},
      "model": {"type": "BPE", "dropout": null, "unk_token": null, "fuse_unk": false,
                "merges": ["l o", "Ġ lo", ["lo", "w"], ["Ġlo", "w"], "Ã ©"]}
    })");
    for (size_t i = 0; i < tokens_.size(); ++i) json_["model"]["vocab"][tokens_[i]] = i;
  }
  std::string RunJson(const std::string& text, const std::string& config = "{}") {
    folder_.Write("tokenizer.json", json_.dump());
    return Run(text, config);
  }
  std::string JsonError() {
    folder_.Write("tokenizer.json", json_.dump());
    folder_.Write("tokenizer_config.json", "{}");
    const std::string file = (folder_.path() / "tokenizer.json").string();
    const std::string error = LoadError(folder_.path(), "roberta");
    return error.starts_with(file) ? error.substr(file.size()) : error;
  }
  Json json_;
};

TEST_F(ByteLevelBpeJsonTest, ReadsMergesOfBothForms) {
  EXPECT_EQ(RunJson("low low lo é"), "low(0,3) Ġlow(4,7) Ġlo(8,10) Ġ(11,11) Ã©(11,12)");
  EXPECT_EQ(RunJson("lo <mask>"), "lo(0,2) <mask>(3,9)");
  EXPECT_EQ(RunJson("low low", R"({"trim_offsets": false})"), "low(0,3) Ġlow(3,7)");
}

TEST_F(ByteLevelBpeJsonTest, WithoutAClassTheFileItselfDecides) {
  json_["pre_tokenizer"]["add_prefix_space"] = true;
  json_["post_processor"]["trim_offsets"] = false;
  folder_.Write("tokenizer.json", json_.dump());
  const Tokens tokens = Load(folder_.path(), "")->Tokenize("low low", true);
  EXPECT_EQ(tokens.offsets, (std::vector<Offset>{{0, 3}, {3, 7}}));
  EXPECT_EQ(tokens_[static_cast<size_t>(tokens.ids[0])], "Ġlow");
}

TEST_F(ByteLevelBpeJsonTest, DamagedMergesAreNamedByTheirPlace) {
  Json& merges = json_["model"]["merges"];
  for (const Json& wrong : {Json("l o w"), Json("low"), Json(3), Json{"l"}, Json{"l", 1}}) {
    merges = {"l o", wrong};
    EXPECT_EQ(JsonError(), ": merge 2 must be two tokens") << wrong;
  }
  merges = {"lo lo"};
  EXPECT_EQ(JsonError(),
            ": merge 1: the merge of 'lo' and 'lo' needs 'lolo', which is not in the vocabulary");
  merges = "l o";
  EXPECT_EQ(JsonError(), ": \"merges\" must be a list");
}

TEST_F(ByteLevelBpeJsonTest, RefusesWhatItDoesNotDo) {
  json_["normalizer"] = {{"type", "NFC"}};
  EXPECT_EQ(JsonError(), ": normalizer \"NFC\" is not known");
  json_["normalizer"] = nullptr;
  json_["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  EXPECT_EQ(JsonError(), ": pre_tokenizer \"BertPreTokenizer\" is not known");
  json_["pre_tokenizer"] = {{"type", "ByteLevel"}};
  json_["model"]["dropout"] = 0.1;
  EXPECT_EQ(JsonError(), ": \"dropout\" of the model is not supported");
}

}  // namespace
}  // namespace hagane::text
