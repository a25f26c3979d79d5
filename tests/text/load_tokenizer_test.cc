// Which file wins, and what is refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/text/text_test_util.h"

namespace hagane::text {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> kBertTokens = {"[PAD]",  "[UNK]", "[CLS]", "[SEP]",
                                              "[MASK]", "a",     "A",     "##b"};

Json SmallTokenizerJson() {
  Json json = Json::parse(R"({
    "version": "1.0",
    "truncation": {"max_length": 3, "strategy": "LongestFirst", "stride": 0},
    "padding": {"strategy": {"Fixed": 9}, "pad_id": 0, "pad_token": "[PAD]"},
    "added_tokens": [{"id": 3, "content": "[SEP]", "single_word": false, "lstrip": false, "rstrip": false,
                      "normalized": false, "special": true}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                   "strip_accents": null, "lowercase": false},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
    "model": {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
  })");
  for (size_t i = 0; i < kBertTokens.size(); ++i) json["model"]["vocab"][kBertTokens[i]] = i;
  return json;
}

class LoadTest : public testing::Test {
 protected:
  std::string Error(const std::string& model_type = "bert") {
    return LoadError(folder_.path(), model_type);
  }
  std::string Path(const std::string& name) { return (folder_.path() / name).string(); }
  std::vector<int32_t> Ids(const std::string& text, const std::string& model_type = "bert") {
    return Load(folder_.path(), model_type)->Encode(text, nullptr, 0, false).ids;
  }
  TestFolder folder_;
};

TEST_F(LoadTest, TokenizerJsonGivesTheIdsOfTheVocabularyFile) {
  folder_.Write("tokenizer_config.json", R"({"do_lower_case": false})")
      .Write("vocab.txt", Lines(kBertTokens));
  const std::vector<int32_t> expected = Ids("Ab ab [SEP] ü");
  TestFolder other;
  other.Write("tokenizer_config.json", R"({"do_lower_case": false})");
  other.Write("tokenizer.json", SmallTokenizerJson().dump());
  EXPECT_EQ(Load(other.path(), "bert")->Encode("Ab ab [SEP] ü", nullptr, 0, false).ids, expected);
}

TEST_F(LoadTest, StoredTruncationAndPaddingAreLeftOut) {
  folder_.Write("tokenizer.json", SmallTokenizerJson().dump());
  EXPECT_EQ(Ids("a a a a a"), (std::vector<int32_t>{2, 5, 5, 5, 5, 5, 3}));
}

TEST_F(LoadTest, ConfigAndClassDefaultOutrankTokenizerJson) {
  folder_.Write("tokenizer.json", SmallTokenizerJson().dump());  // says lowercase: false
  EXPECT_EQ(Ids("A"), (std::vector<int32_t>{2, 5, 3}));          // BertTokenizer's default is true
  folder_.Write("tokenizer_config.json", R"({"do_lower_case": false})");
  EXPECT_EQ(Ids("A"), (std::vector<int32_t>{2, 6, 3}));
  folder_.Write("tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})");
  EXPECT_EQ(Ids("A"), (std::vector<int32_t>{2, 6, 3}));  // here the file alone decides
}

TEST_F(LoadTest, LowerCasingOfACasedVocabularyIsSaid) {
  folder_.Write("vocab.txt", Lines(kBertTokens));
  KeepingLog log;
  LoadTokenizer(folder_.path(), "bert", log);
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("do_lower_case is not given"), std::string::npos);
}

TEST_F(LoadTest, ClassComesFromTokenizerConfigThenConfigThenModelType) {
  folder_.Write("vocab.txt", Lines(kBertTokens));
  EXPECT_TRUE(Load(folder_.path(), "bert")->returns_token_types());
  EXPECT_TRUE(Load(folder_.path(), "electra")->returns_token_types());
  EXPECT_FALSE(Load(folder_.path(), "distilbert")->returns_token_types());
  folder_.Write("config.json",
                R"({"model_type": "bert", "tokenizer_class": "DistilBertTokenizer"})");
  EXPECT_FALSE(Load(folder_.path(), "bert")->returns_token_types());
  folder_.Write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizerFast"})");
  EXPECT_TRUE(Load(folder_.path(), "distilbert")->returns_token_types());
  folder_.Write(
      "tokenizer_config.json",
      R"({"tokenizer_class": "BertTokenizer", "model_input_names": ["input_ids", "attention_mask"]})");
  EXPECT_FALSE(Load(folder_.path(), "bert")->returns_token_types());
}

TEST_F(LoadTest, WithoutAnyClassTokenizerJsonDecidesAlone) {
  folder_.Write("vocab.txt", Lines(kBertTokens));
  EXPECT_EQ(Error(""),
            folder_.path().string() +
                ": the folder has no tokenizer.json and does not say which class its tokenizer is");
  folder_.Write("tokenizer.json", SmallTokenizerJson().dump());
  EXPECT_EQ(Ids("A", ""), (std::vector<int32_t>{2, 6, 3}));
}

TEST_F(LoadTest, LengthLimitOfTheConfigIsKeptAndAHugeOneMeansNone) {
  folder_.Write("vocab.txt", Lines(kBertTokens))
      .Write("tokenizer_config.json", R"({"model_max_length": 512})");
  EXPECT_EQ(Load(folder_.path(), "bert")->model_max_length(), 512);
  folder_.Write("tokenizer_config.json",
                R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_EQ(Load(folder_.path(), "bert")->model_max_length(), std::nullopt);
}

TEST_F(LoadTest, AddedTokensComeFromEveryFileThatMayNameThem) {
  folder_.Write("vocab.txt", Lines(kBertTokens)).Write("added_tokens.json", R"({"<x>": 8})");
  folder_.Write("special_tokens_map.json", R"({"additional_special_tokens": ["<y>", "a"]})");
  EXPECT_EQ(Ids("<x><y>a"), (std::vector<int32_t>{2, 8, 9, 5, 3}));
  EXPECT_EQ(Load(folder_.path(), "bert")->vocab_size(), 10);
  folder_.Write("tokenizer_config.json",
                R"({"added_tokens_decoder": {"11": {"content": "<z>", "special": true}}})");
  EXPECT_EQ(Ids("<z><z>"), (std::vector<int32_t>{2, 11, 11, 3}));  // outranks the older files
  EXPECT_EQ(Load(folder_.path(), "bert")->vocab_size(), 12);
}

TEST_F(LoadTest, KnowsItsSpecialIdsAndItsFiles) {
  folder_.Write("vocab.txt", Lines({"<pad>", "<unk>", "<c>", "<s>", "a"}));
  folder_.Write(
      "tokenizer_config.json",
      R"({"cls_token": "<c>", "sep_token": "<s>", "unk_token": "<unk>", "pad_token": "<pad>"})");
  const auto tokenizer = Load(folder_.path(), "bert");
  EXPECT_EQ(tokenizer->cls_id(), 2);
  EXPECT_EQ(tokenizer->sep_id(), 3);
  EXPECT_EQ(tokenizer->pad_id(), 0);
  EXPECT_EQ(Ids("b"), (std::vector<int32_t>{2, 1, 3}));
  EXPECT_EQ(tokenizer->files(),
            (std::vector<std::filesystem::path>{folder_.path() / "tokenizer_config.json",
                                                folder_.path() / "vocab.txt"}));
}

// As in the reference; whether the model has such a row is checked with the ids of the texts.
TEST_F(LoadTest, TheTemplateMayNameAnIdThatTheVocabularyHasNot) {
  Json json = SmallTokenizerJson();
  json["post_processor"]["sep"][1] = 28;
  folder_.Write("tokenizer.json", json.dump());
  EXPECT_EQ(Ids("a"), (std::vector<int32_t>{2, 5, 28}));
  EXPECT_EQ(Load(folder_.path(), "bert")->vocab_size(), 29);
}

TEST_F(LoadTest, MPNetHasTwoSeparatorsAndTypes) {
  folder_.Write("vocab.txt", Lines({"<s>", "<pad>", "</s>", "[UNK]", "<mask>", "a"}));
  const std::string_view second = "a";
  const Encoding encoding = Load(folder_.path(), "mpnet")->Encode("a", &second, 0, false);
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{0, 5, 2, 2, 5, 2}));
  EXPECT_EQ(encoding.type_ids, (std::vector<int32_t>{0, 0, 0, 0, 1, 1}));
}

TEST_F(LoadTest, TemplatesAreReadAndUnknownOnesRefused) {
  const auto special = [](const char* token, int type) {
    return Json{{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  const auto text = [](const char* name, int type) {
    return Json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  Json json = SmallTokenizerJson();
  Json& post = json["post_processor"];
  post = {
      {"type", "TemplateProcessing"},
      {"single", {special("[CLS]", 0), text("A", 0), special("[SEP]", 0)}},
      {"pair",
       {special("[CLS]", 0), text("A", 0), special("[SEP]", 0), text("B", 0), special("[SEP]", 0)}},
      {"special_tokens", {{"[CLS]", {{"ids", {2}}}}, {"[SEP]", {{"ids", {3}}}}}}};
  folder_.Write("tokenizer.json", json.dump());
  const std::string_view second = "a";
  const Encoding encoding = Load(folder_.path(), "bert")->Encode("a", &second, 0, false);
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{2, 5, 3, 5, 3}));
  EXPECT_EQ(encoding.type_ids, std::vector<int32_t>(5, 0));
  post["single"].erase(0);
  folder_.Write("tokenizer.json", json.dump());
  EXPECT_EQ(Error(), Path("tokenizer.json") + ": the template of its post-processor is not known");
}

TEST_F(LoadTest, UnknownComponentsAreRefusedByName) {
  const std::tuple<const char*, Json, const char*> cases[] = {
      {"normalizer", {{"type", "NFKC"}}, "normalizer \"NFKC\" is not known"},
      {"pre_tokenizer", {{"type", "Whitespace"}}, "pre_tokenizer \"Whitespace\" is not known"},
      {"post_processor", {{"type", "Frobnicate"}}, "post_processor \"Frobnicate\" is not known"},
      {"post_processor", nullptr, "post_processor \"null\" is not known"},
      {"model", {{"type", "WordLevel"}, {"vocab", {{"a", 0}}}}, "model \"WordLevel\" is not known"},
      {"model",
       {{"type", "Unigram"}, {"vocab", Json::array()}},
       "model \"Unigram\" is a SentencePiece tokenizer, and those cannot be read yet"},
  };
  for (const auto& [component, value, message] : cases) {
    Json json = SmallTokenizerJson();
    json[component] = value;
    folder_.Write("tokenizer.json", json.dump());
    EXPECT_EQ(Error(), Path("tokenizer.json") + ": " + message);
  }
}

TEST_F(LoadTest, SentencePieceIsRefusedInOneSentence) {
  folder_.Write("tokenizer_config.json", R"({"tokenizer_class": "XLMRobertaTokenizer"})");
  EXPECT_EQ(
      Error(),
      Path("tokenizer_config.json") +
          ": \"XLMRobertaTokenizer\" is a SentencePiece tokenizer, and those cannot be read yet");
  TestFolder other;
  other.Write("spiece.model", "x");
  EXPECT_EQ(LoadError(other.path(), "bert"),
            other.path().string() +
                ": spiece.model is a SentencePiece tokenizer, and those cannot be read yet");
}

TEST_F(LoadTest, UnknownClassesAndModelTypesAreRefused) {
  EXPECT_EQ(Error("llama"),
            folder_.path().string() + ": there is no tokenizer for model type \"llama\"");
  folder_.Write("tokenizer_config.json", R"({"tokenizer_class": "BertJapaneseTokenizer"})");
  EXPECT_EQ(Error(), Path("tokenizer_config.json") +
                         ": tokenizer class \"BertJapaneseTokenizer\" is not known");
  folder_.Write("tokenizer_config.json", R"({"tokenizer_class": "RobertaTokenizer"})");
  folder_.Write("tokenizer.json", SmallTokenizerJson().dump());
  EXPECT_EQ(Error(),
            Path("tokenizer.json") +
                ": the file holds a WordPiece model, but the tokenizer class is RobertaTokenizer");
}

TEST_F(LoadTest, MissingAndDamagedVocabulariesAreNamed) {
  EXPECT_EQ(Error(),
            folder_.path().string() + ": the folder has neither tokenizer.json nor vocab.txt");
  EXPECT_EQ(Error("roberta"),
            folder_.path().string() + ": the folder has neither tokenizer.json nor vocab.json");
  folder_.Write("vocab.txt", "");
  EXPECT_EQ(Error(), Path("vocab.txt") + ": the vocabulary is empty");
  folder_.Write("vocab.txt", "[PAD]\n[UNK]\n\xFF\xFE\n");
  EXPECT_EQ(Error(), Path("vocab.txt") + ":3: the line is not UTF-8");
  folder_.Write("vocab.txt", "[PAD]\n[UNK]\n[cls]\n[SEP]\n");
  EXPECT_EQ(Error(), Path("vocab.txt") + ": the vocabulary has no [CLS]");
  folder_.Write("vocab.txt", "[PAD]\n[CLS]\n[SEP]\n");
  EXPECT_EQ(Error(), Path("vocab.txt") + ": the vocabulary has no [UNK]");
  folder_.Write("vocab.json", R"({"<s>": -1})");
  EXPECT_EQ(Error("roberta"),
            Path("vocab.json") + ": \"<s>\" must be a whole number from 0 to 524287");
}

TEST_F(LoadTest, RepeatedLinesCountByTheLastAndAreSaid) {
  folder_.Write("vocab.txt", "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\na\r\nb\r\na\r\n");
  KeepingLog log;
  const auto tokenizer = LoadTokenizer(folder_.path(), "bert", log);
  EXPECT_EQ(tokenizer->Tokenize("a b", false).ids, (std::vector<int32_t>{7, 6}));
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("'a' in line 8"), std::string::npos);
}

TEST_F(LoadTest, WrongTypesAreNamedByFileAndKey) {
  folder_.Write("vocab.txt", Lines(kBertTokens));
  folder_.Write("tokenizer_config.json", R"({"do_lower_case": "yes"})");
  EXPECT_EQ(Error(), Path("tokenizer_config.json") + ": \"do_lower_case\" must be true or false");
  folder_.Write("tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "<z>"}}})");
  EXPECT_EQ(Error(), Path("tokenizer_config.json") +
                         ": \"added_tokens_decoder\" must be an object whose keys are token ids");
  folder_.Write("tokenizer_config.json", "[]");
  EXPECT_EQ(Error(), Path("tokenizer_config.json") + ": the file must hold a JSON object");
}

// Tables are indexed by ids, and the largest 32-bit one has no successor.
TEST_F(LoadTest, IdsBeyondAnyVocabularyAreRefusedInEveryFile) {
  folder_.Write("vocab.txt", Lines(kBertTokens));
  for (const char* id : {"524288", "2147483647", "4294967296", "-1"}) {
    folder_.Write("added_tokens.json", "{\"<x>\": " + std::string(id) + "}");
    EXPECT_EQ(Error(),
              Path("added_tokens.json") + ": \"<x>\" must be a whole number from 0 to 524287");
    folder_.Write("tokenizer_config.json", "{\"added_tokens_decoder\": {\"" + std::string(id) +
                                               "\": {\"content\": \"<x>\"}}}");
    EXPECT_EQ(Error(), Path("tokenizer_config.json") +
                           ": \"added_tokens_decoder\" must be an object whose keys are token ids");
    std::filesystem::remove(folder_.path() / "tokenizer_config.json");
  }
  folder_.Write("added_tokens.json", R"({"": 8})");
  EXPECT_EQ(Error(), Path("added_tokens.json") + ": \"\" must be a token, not an empty text");
}

TEST_F(LoadTest, ControlCharactersStayOutOfMessages) {
  folder_.Write("vocab.txt", Lines(kBertTokens));
  folder_.Write("tokenizer_config.json", R"({"tokenizer_class": "\u001b[2J"})");
  EXPECT_EQ(Error(), Path("tokenizer_config.json") + ": tokenizer class \"\\x1b[2J\" is not known");
  folder_.Write("tokenizer_config.json", R"({"unk_token": "\u001b[2J"})");
  EXPECT_EQ(Error(), Path("vocab.txt") + ": the vocabulary has no \\x1b[2J");
  folder_.Write("tokenizer_config.json", R"({"cls_token": "\u001b[2J"})");
  std::filesystem::remove(folder_.path() / "vocab.txt");
  Json json = SmallTokenizerJson();
  json["model"]["type"] = "\u001b[2J";
  folder_.Write("tokenizer.json", json.dump());
  EXPECT_EQ(Error(), Path("tokenizer.json") + ": model \"\\x1b[2J\" is not known");
}

}  // namespace
}  // namespace hagane::text
