// Tokenizer files that want more memory than they have any use for: refused, at no more than their
// size and 64 MB.
#include "tests/memory_cost.h"
#include "tests/text/text_test_util.h"

namespace hagane::text {
namespace {

class HostileVocabulary : public testing::Test {
 protected:
  testing::AssertionResult Refused(const std::string& name, const std::string& content,
                                   const std::string& reason,
                                   const std::string& model_type = "bert") {
    folder_.Write(name, content);
    return IsRefusedCheaply(folder_.path() / name, reason,
                            [&] { Load(folder_.path(), model_type); });
  }
  TestFolder folder_;
};

TEST_F(HostileVocabulary, TokenizerJson) {
  const std::string name = "tokenizer.json";
  EXPECT_TRUE(Refused(name, std::string(1'000'000, '['), "64 deep"));
  std::string values = "{\"model\":{\"vocab\":{";
  for (int i = 0; i < 3'000'000; ++i) values += "\"" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(Refused(name, values + "\"\":0}}}", "more than 524288 values"));
  EXPECT_TRUE(Refused(name, "{\"a\":\"" + std::string(60 << 20, 'a') + "\"}", "more than 8 MB"));
  EXPECT_TRUE(Refused(name, std::string(65 << 20, ' '), "larger than"));
}

TEST_F(HostileVocabulary, VocabTxt) {
  const std::string begin = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  std::string lines = begin;
  for (int i = 0; i < 3'000'000; ++i) lines += std::to_string(i) + "\n";
  EXPECT_TRUE(Refused("vocab.txt", lines, "too many lines"));
  // Bytes that no other token shares, each a node of the tree that is searched.
  std::string tokens = begin;
  for (char c = 'a'; c <= 'z'; ++c) tokens += std::string(200'000, c) + "\n";
  EXPECT_TRUE(Refused("vocab.txt", tokens, "different beginnings"));
}

TEST_F(HostileVocabulary, MergesTxt) {
  folder_.Write("vocab.json", R"({"<s>":0,"</s>":1,"a":2,"b":3,"ab":4})");
  std::string merges;
  for (int i = 0; i < 5'000'000; ++i) merges += "a b\n";
  EXPECT_TRUE(Refused("merges.txt", merges, "more merges than tokens", "roberta"));
}

// A search through all earlier ones for each would need hours.
TEST_F(HostileVocabulary, AHundredThousandAddedTokensAreTakenAndFound) {
  folder_.Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  std::string added = "{";
  for (int i = 0; i < 100'000; ++i)
    added += "\"<" + std::to_string(i) + ">\":" + std::to_string(i + 5) + ",";
  added.back() = '}';
  folder_.Write("added_tokens.json", added);
  EXPECT_EQ(Load(folder_.path(), "bert")->Encode("<99999>", nullptr, 0, false).ids,
            (std::vector<int32_t>{2, 100'004, 3}));
}

}  // namespace
}  // namespace hagane::text
