// Real vocabularies against the reference's own ids and offsets, from the shared data.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/text/text_test_util.h"
#include "text/utf8.h"

namespace hagane::text {
namespace {

using Json = nlohmann::json;

std::vector<Json> ReadLines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

std::vector<std::pair<int32_t, int32_t>> Pairs(const std::vector<Offset>& offsets) {
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (const Offset& offset : offsets) pairs.emplace_back(offset.begin, offset.end);
  return pairs;
}

// A folder with a tokenizer, and which oracle file it must reproduce.
struct Source {
  const char* folder;
  const char* model_type;
  const char* oracle;
};

void PrintTo(const Source& source, std::ostream* out) { *out << source.folder; }

class OracleTest : public testing::TestWithParam<Source> {};

TEST_P(OracleTest, TextsHaveTheReferencesIdsAndOffsets) {
  const auto path = Shared(std::string("oracle/tokens/") + GetParam().oracle + ".jsonl");
  HAGANE_SKIP_WITHOUT(path);
  const auto tokenizer = Load(Shared(GetParam().folder), GetParam().model_type);
  const std::vector<Json> lines = ReadLines(path);
  ASSERT_EQ(lines.size(), 1000u);
  for (const Json& line : lines) {
    const auto text = line["text"].get<std::string>();
    const Encoding encoding = tokenizer->Encode(text, nullptr, 0, true);
    ASSERT_EQ(encoding.ids, line["ids"].get<std::vector<int32_t>>()) << line["text"];
    ASSERT_EQ(Pairs(encoding.offsets),
              (line["offsets"].get<std::vector<std::pair<int32_t, int32_t>>>()))
        << line["text"];
    ASSERT_EQ(tokenizer->Encode(text, nullptr, 0, false).ids, encoding.ids) << line["text"];
  }
}

TEST_P(OracleTest, PairsAreCutAsTheReferenceCutsThem) {
  const auto path = Shared(std::string("oracle/tokens/") + GetParam().oracle + ".pairs.jsonl");
  HAGANE_SKIP_WITHOUT(path);
  const auto tokenizer = Load(Shared(GetParam().folder), GetParam().model_type);
  const std::vector<Json> lines = ReadLines(path);
  ASSERT_EQ(lines.size(), 200u);
  for (const Json& line : lines) {
    const auto first = line["a"].get<std::string>(), second = line["b"].get<std::string>();
    const std::string_view pair = second;
    const Encoding encoding = tokenizer->Encode(first, &pair, line["max_length"].get<int>(), false);
    ASSERT_EQ(encoding.ids, line["ids"].get<std::vector<int32_t>>()) << line;
    ASSERT_EQ(encoding.type_ids, line["token_type_ids"].get<std::vector<int32_t>>()) << line;
  }
}

TEST_P(OracleTest, OffsetsAreWithinTheTextInOrderAndIdsWithinTheVocabulary) {
  const auto path = Shared(std::string("oracle/tokens/") + GetParam().oracle + ".jsonl");
  HAGANE_SKIP_WITHOUT(path);
  const auto tokenizer = Load(Shared(GetParam().folder), GetParam().model_type);
  for (const Json& line : ReadLines(path)) {
    const auto text = line["text"].get<std::string>();
    // Also with a cut character at the end, which must behave like any other.
    for (const std::string& variant : {text, text.substr(0, text.size() - 1)}) {
      std::string storage;
      const auto characters = static_cast<int32_t>(CountCodePoints(ValidUtf8(variant, storage)));
      const Tokens tokens = tokenizer->Tokenize(variant, true);
      ASSERT_EQ(tokens.ids.size(), tokens.offsets.size());
      Offset previous;
      for (size_t i = 0; i < tokens.ids.size(); ++i) {
        const Offset& offset = tokens.offsets[i];
        ASSERT_TRUE(tokens.ids[i] >= 0 && tokens.ids[i] < tokenizer->vocab_size());
        ASSERT_TRUE(0 <= offset.begin && offset.begin <= offset.end && offset.end <= characters)
            << line["text"];
        // Bytes of one character share its range; a trimmed blank may end where it began.
        ASSERT_TRUE(offset.end >= previous.end) << line["text"];
        previous = offset;
      }
    }
  }
}

TEST_P(OracleTest, EveryThreadGetsTheSame) {
  const auto path = Shared(std::string("oracle/tokens/") + GetParam().oracle + ".jsonl");
  HAGANE_SKIP_WITHOUT(path);
  const auto tokenizer = Load(Shared(GetParam().folder), GetParam().model_type);
  std::vector<std::string> texts;
  for (const Json& line : ReadLines(path)) texts.push_back(line["text"].get<std::string>());
  std::vector<std::vector<std::vector<int32_t>>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] {
      for (const std::string& text : texts) result.push_back(tokenizer->Tokenize(text, true).ids);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

INSTANTIATE_TEST_SUITE_P(
    VocabularyFiles, OracleTest,
    testing::Values(Source{"oracle/tokenizers/bert-base-uncased", "bert", "bert-base-uncased"},
                    Source{"oracle/tokenizers/bert-base-cased", "bert", "bert-base-cased"},
                    Source{"oracle/tokenizers/bert-base-multilingual-cased", "bert",
                           "bert-base-multilingual-cased"},
                    Source{"oracle/tokenizers/bert-base-chinese", "bert", "bert-base-chinese"},
                    Source{"oracle/tokenizers/roberta-base", "roberta", "roberta-base"}));

INSTANTIATE_TEST_SUITE_P(
    TokenizerJson, OracleTest,
    testing::Values(Source{"data/fixtures/all-MiniLM-L6-v2", "bert", "bert-base-uncased"},
                    Source{"oracle/trajectory/tiny-bert", "bert", "bert-base-uncased"},
                    Source{"data/vocab/roberta-base", "roberta", "roberta-base"}));

}  // namespace
}  // namespace hagane::text
