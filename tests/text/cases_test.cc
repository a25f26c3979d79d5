// Inputs that have gone wrong for people, with the right values, from the shared data.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/text/text_test_util.h"

namespace hagane::text {
namespace {

using Json = nlohmann::json;

std::filesystem::path CaseFile(const std::string& folder) {
  return Shared("cases/" + folder + "/expected.json");
}

Json ReadCase(const std::string& folder) { return Json::parse(std::ifstream(CaseFile(folder))); }

std::unique_ptr<Tokenizer> LoadNamed(const std::string& name) {
  const std::string folder = name == "roberta" ? "roberta-base" : "bert-base-" + name;
  return Load(Shared("oracle/tokenizers/" + folder), name == "roberta" ? "roberta" : "bert");
}

void ExpectEncoding(const Tokenizer& tokenizer, const Json& expected, int max_length) {
  const auto first = expected["text"].get<std::string>();
  const auto second = expected.value("pair", std::string());
  const std::string_view pair = second;
  const Encoding encoding =
      tokenizer.Encode(first, expected.contains("pair") ? &pair : nullptr, max_length, true);
  EXPECT_EQ(encoding.ids, expected["ids"].get<std::vector<int32_t>>()) << expected["text"];
  EXPECT_EQ(encoding.type_ids, expected["type_ids"].get<std::vector<int32_t>>())
      << expected["text"];
  std::vector<std::pair<int32_t, int32_t>> offsets;
  for (const Offset& offset : encoding.offsets) offsets.emplace_back(offset.begin, offset.end);
  EXPECT_EQ(offsets, (expected["offsets"].get<std::vector<std::pair<int32_t, int32_t>>>()))
      << expected["text"];
}

// The cases that are lists of encodings per tokenizer.
class CaseTest : public testing::TestWithParam<std::string> {};

TEST_P(CaseTest, GivesTheReferencesEncoding) {
  HAGANE_SKIP_WITHOUT(CaseFile(GetParam()));
  const Json cases = ReadCase(GetParam());
  int checked = 0;
  for (const auto& [name, encodings] : cases.items()) {
    if (!encodings.is_array()) continue;
    const auto tokenizer = LoadNamed(name);
    for (const Json& expected : encodings) {
      ExpectEncoding(*tokenizer, expected, cases.value("max_seq_length", 0));
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

INSTANTIATE_TEST_SUITE_P(Shared, CaseTest,
                         testing::Values("BL-16-emoji-and-surrogates", "BL-17-control-characters",
                                         "BL-19-byte-level-offsets", "BL-20-accents-cjk-long-words",
                                         "BL-32-no-token-types", "BL-33-pair-truncation"));

TEST(Case, QuestionWithoutItsLeadingBlanksIsTheCleanQuestion) {
  const std::string folder = "BL-04-question-leading-blanks";
  HAGANE_SKIP_WITHOUT(CaseFile(folder));
  const Json expected = ReadCase(folder);
  const auto tokenizer = LoadNamed("roberta");
  ExpectEncoding(*tokenizer, expected["stripped"], 0);
  const std::string blanks(400, ' ');
  const std::string question = blanks + expected["stripped"]["text"].get<std::string>();
  EXPECT_EQ(tokenizer->Encode(question, nullptr, 0, false).ids.size(),
            expected["question_tokens_unstripped"].get<size_t>());
}

TEST(Case, RobertaCountsPositionsFromItsPadId) {
  const std::string folder = "BL-22-roberta-positions";
  HAGANE_SKIP_WITHOUT(CaseFile(folder));
  auto expected = ReadCase(folder)["ids padded to 6"].get<std::vector<int32_t>>();
  const auto tokenizer = LoadNamed("roberta");
  std::vector<int32_t> ids = tokenizer->Encode("Hello world", nullptr, 0, false).ids;
  ids.resize(6, tokenizer->pad_id());
  EXPECT_EQ(ids, expected);
}

TEST(Case, OnlyBertWantsTokenTypes) {
  HAGANE_SKIP_WITHOUT(Shared("oracle/tokenizers"));
  EXPECT_TRUE(LoadNamed("uncased")->returns_token_types());
  EXPECT_FALSE(LoadNamed("roberta")->returns_token_types());
}

}  // namespace
}  // namespace hagane::text
