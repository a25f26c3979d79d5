#include "cli/tokenize_command.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"

namespace hagane::cli {
namespace {

// One token per character: its code, so that lines are easy to read.
class CharacterTokenizer : public text::Tokenizer {
 public:
  CharacterTokenizer() {
    cls_id_ = 1;
    sep_id_ = 2;
  }
  text::Tokens Tokenize(std::string_view text, bool) const override {
    text::Tokens tokens;
    for (const char c : text) {
      const auto begin = static_cast<int32_t>(tokens.ids.size());
      tokens.ids.push_back(c);
      tokens.offsets.push_back({begin, begin + 1});
    }
    return tokens;
  }
};

std::string Tokenized(const std::string& lines) {
  std::istringstream in(lines);
  std::ostringstream out;
  TokenizeLines(CharacterTokenizer(), in, out, "in.jsonl");
  return out.str();
}

std::string ErrorOf(const std::string& lines) {
  try {
    Tokenized(lines);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TokenizeLines, WritesIdsOffsetsAndTypesOfTextsAndPairs) {
  EXPECT_EQ(Tokenized("{\"text\": \"AB\"}\n"),
            "{\"ids\": [1, 65, 66, 2], \"offsets\": [[0, 0], [0, 1], [1, 2], [0, 0]], "
            "\"token_type_ids\": [0, 0, 0, 0]}\n");
  EXPECT_EQ(Tokenized("{\"a\": \"A\", \"b\": \"B\"}"),
            "{\"ids\": [1, 65, 2, 66, 2], \"offsets\": [[0, 0], [0, 1], [0, 0], [0, 1], [0, 0]], "
            "\"token_type_ids\": [0, 0, 0, 1, 1]}\n");
}

TEST(TokenizeLines, CutsToMaxLengthAndPassesOverBlankLines) {
  EXPECT_EQ(Tokenized("\n{\"text\": \"ABCD\", \"max_length\": 3}\r\n  \n"),
            "{\"ids\": [1, 65, 2], \"offsets\": [[0, 0], [0, 1], [0, 0]], \"token_type_ids\": [0, "
            "0, 0]}\n");
  EXPECT_EQ(Tokenized("{\"text\": \"A\", \"max_length\": null}"), Tokenized("{\"text\": \"A\"}"));
}

TEST(TokenizeLines, ErrorsNameTheLine) {
  const std::string good = "{\"text\": \"A\"}\n";
  EXPECT_EQ(ErrorOf(good + "{\"txt\": \"A\"}"), "in.jsonl:2: unknown key \"txt\"");
  EXPECT_EQ(ErrorOf(good + good + "[1]"), "in.jsonl:3: not a JSON object");
  EXPECT_EQ(ErrorOf("{\"text\": 5}"), "in.jsonl:1: \"text\" must be a string");
  EXPECT_EQ(ErrorOf("{\"a\": \"A\"}"), "in.jsonl:1: neither a text nor a pair");
  EXPECT_EQ(ErrorOf("{\"b\": \"A\"}"), "in.jsonl:1: neither a text nor a pair");
  EXPECT_EQ(ErrorOf("{}"), "in.jsonl:1: neither a text nor a pair");
  EXPECT_EQ(ErrorOf("{\"text\": \"A\", \"b\": \"B\"}"), "in.jsonl:1: neither a text nor a pair");
  EXPECT_EQ(ErrorOf("{\"text\": \"A\", \"a\": \"B\"}"),
            "in.jsonl:1: \"text\" and \"a\" exclude each other");
  EXPECT_EQ(ErrorOf("{\"text\": \"A\", \"max_length\": 0}"),
            "in.jsonl:1: \"max_length\" must be a positive whole number");
  EXPECT_EQ(ErrorOf("{\"text\": \"A\", \"max_length\": 1}"),
            "in.jsonl:1: \"max_length\" 1 leaves no room for the 2 special tokens");
  EXPECT_NE(ErrorOf(good + "{\"text\": ").find("in.jsonl:2"), std::string::npos);
  EXPECT_NE(ErrorOf(good + "{\"text\": \"\\ud800\"}").find("in.jsonl:2"), std::string::npos);
}

}  // namespace
}  // namespace hagane::cli
