#include "data/squad.h"

#include "tests/data/test_files.h"

namespace hagane::data {
namespace {

using Texts = std::vector<std::string>;

class SquadTest : public ::testing::Test {
 protected:
  QaDataset Read(const std::string& content, QaUse use = QaUse::kTrain,
                 std::optional<int64_t> max_examples = {}) {
    return ReadSquad(folder_.Write("data.json", content), {"train", use, max_examples}, log_);
  }
  // One question on `context` with these members.
  static std::string Nested(const std::string& context, const std::string& members) {
    return R"({"data": [{"paragraphs": [{"context": ")" + context + R"(", "qas": [{)" + members +
           "}]}]}]}";
  }
  QaExample Example(const std::string& context, const std::string& members) {
    return Read(Nested(context, R"("id": "x", "question": "?", )" + members)).examples.at(0);
  }
  bool Warned(const std::string& part) const {
    for (const std::string& line : log_.warnings) {
      if (line.find(part) != line.npos) return true;
    }
    return false;
  }
  KeptLog log_;
  TemporaryFolder folder_;
};

TEST_F(SquadTest, AllFormsGiveTheSameExamples) {
  const std::string record =
      R"({"id": "x", "title": "t", "context": "a cat", "question": "who?",
          "answers": {"text": ["cat"], "answer_start": [2]}})";
  std::string line = record;
  line.erase(std::remove(line.begin(), line.end(), '\n'), line.end());
  const std::string paragraph = R"({"context": "a cat", "qas": [{"id": "x", "question": "who?",
      "answers": [{"text": "cat", "answer_start": 2}]}]})";
  for (const std::string& content :
       {"{\"version\": \"1.1\", \"data\": [" + record + "]}", "[" + record + "]", line,
        "{\"data\": [{\"title\": \"t\", \"paragraphs\": [" + paragraph + "]}]}",
        "{\"data\": [" + paragraph + "]}"}) {
    const QaDataset dataset = Read(content);
    ASSERT_EQ(dataset.examples.size(), 1u) << content;
    const QaExample& example = dataset.examples[0];
    EXPECT_EQ(example.id, "x");
    EXPECT_EQ(example.question, "who?");
    EXPECT_EQ(dataset.context(example), "a cat");
    EXPECT_EQ(example.answers, Texts{"cat"});
    EXPECT_EQ(example.target, QaTarget::kSpan);
    EXPECT_EQ(example.target_begin, 2);
    EXPECT_EQ(example.target_end, 5);
    EXPECT_FALSE(dataset.version_2);
  }
  EXPECT_TRUE(log_.warnings.empty());
}

TEST_F(SquadTest, ColumnsWithOtherNamesAreTakenByPlace) {
  const QaDataset dataset =
      Read(R"([{"q": "who?", "text": "a cat", "gold": {"text": ["cat"], "answer_start": [2]}}])");
  EXPECT_EQ(dataset.examples[0].question, "who?");
  EXPECT_EQ(dataset.context(dataset.examples[0]), "a cat");
  EXPECT_EQ(dataset.examples[0].target_begin, 2);
  // No column of answers: the third is something else.
  EXPECT_FALSE(Read(R"([{"question": "?", "context": "c", "id": "1"}])").examples[0].has_answers);
}

TEST_F(SquadTest, QuestionsLoseUnicodeBlanksAtTheirFrontOnly) {
  const QaDataset dataset =
      Read(Nested(" a cat ", "\"id\": \"x\", \"question\": \"\\u3000\\u00a0 \\u001f\\twho? \""));
  EXPECT_EQ(dataset.examples[0].question, "who? ");
  EXPECT_EQ(dataset.contexts[0], " a cat ");
}

TEST_F(SquadTest, AnswerStartCountsCodePoints) {
  const QaExample example = Example("\xF0\x9F\x98\x80 e\xCC\x81t\xC3\xA9 \xE6\x9D\xB1",  // 😀 été 東
                                    R"("answers": [{"text": "東", "answer_start": 7}])");
  EXPECT_EQ(example.target, QaTarget::kSpan);
  EXPECT_EQ(example.target_begin, 7);
  EXPECT_EQ(example.target_end, 8);
  EXPECT_TRUE(log_.warnings.empty());
}

TEST_F(SquadTest, AnAnswerElsewhereIsTakenWhereItStandsOnce) {
  const QaExample example =
      Example("東 has 10 inhabitants", R"("answers": [{"text": "10", "answer_start": 0}])");
  EXPECT_EQ(example.target, QaTarget::kSpan);
  EXPECT_EQ(example.target_begin, 6);
  EXPECT_TRUE(Warned("1 of 1 questions (x): the answer is not at its answer_start"));
}

TEST_F(SquadTest, AnAnswerThatCannotBePlacedIsNotTrained) {
  for (const char* answer :
       {R"({"text": "11", "answer_start": 6})", R"({"text": "a", "answer_start": 3})",
        R"({"text": "10", "answer_start": -5})", R"({"text": "", "answer_start": 2})",
        R"({"text": "10 10 10", "answer_start": 99999999999})", R"({"text": "10"})",
        R"({"text": "10", "answer_start": "six"})", R"({"text": " ", "answer_start": 1})"}) {
    log_.warnings.clear();
    const QaExample example = Example("a 10 a 10", std::string("\"answers\": [") + answer + "]");
    EXPECT_EQ(example.target, QaTarget::kUnusable) << answer;
    EXPECT_TRUE(example.has_answers);
    EXPECT_TRUE(Warned("left out of training")) << answer;
  }
}

TEST_F(SquadTest, TheFirstAnswerRules) {
  const QaExample example = Example("one two", R"("answers": [{"text": "two", "answer_start": 4},
      {"text": "one", "answer_start": 0}])");
  EXPECT_EQ(example.target_begin, 4);
  EXPECT_EQ(example.answers, (Texts{"two", "one"}));
}

TEST_F(SquadTest, NoAnswerIsToldFromUnknown) {
  EXPECT_EQ(Example("c", R"("answers": [], "is_impossible": true)").target, QaTarget::kNoAnswer);
  EXPECT_EQ(Example("c", R"("answers": {"text": [], "answer_start": []})").target,
            QaTarget::kNoAnswer);
  EXPECT_EQ(Example("c", R"("is_impossible": true)").target, QaTarget::kNoAnswer);
  EXPECT_TRUE(log_.warnings.empty());
  EXPECT_EQ(Example("c", R"("answers": null)").target, QaTarget::kUnusable);
  EXPECT_TRUE(Warned("(x): no answers are given"));
  log_.warnings.clear();
  EXPECT_EQ(Example("c", R"("answers": [], "is_impossible": false)").target, QaTarget::kUnusable);
  EXPECT_TRUE(Warned("contradict"));
  log_.warnings.clear();
  const QaExample both =
      Example("c", R"("answers": [{"text": "c", "answer_start": 0}], "is_impossible": true)");
  EXPECT_EQ(both.target, QaTarget::kUnusable);
  EXPECT_TRUE(Warned("contradict"));
}

TEST_F(SquadTest, VersionTwoIsSeenByVersionOrByUnanswerableQuestions) {
  const std::string answered =
      Nested("c", R"("id": "x", "question": "?", "answers": [{"text": "c", "answer_start": 0}])");
  EXPECT_FALSE(Read(answered).version_2);
  for (const char* version : {"\"v2.0\"", "2.0", "\"2.0\""}) {
    EXPECT_TRUE(
        Read(std::string("{\"version\": ") + version + ", " + answered.substr(1)).version_2);
  }
  EXPECT_FALSE(Read("{\"version\": \"v1.2\", " + answered.substr(1)).version_2);
  EXPECT_TRUE(Read(Nested("c", R"("id": "x", "question": "?", "is_impossible": true)")).version_2);
}

TEST_F(SquadTest, IdsAreTextsOrNumbersOrThePlace) {
  EXPECT_EQ(Read(Nested("c", R"("id": 12, "question": "?")")).examples[0].id, "12");
  const QaDataset dataset = Read(R"([{"question": "?", "context": "c"},
                                     {"question": "?", "context": "c"}])",
                                 QaUse::kPredict);
  EXPECT_EQ(dataset.examples[1].id, "1");
  EXPECT_TRUE(Warned("2 of 2 questions (0, 1): no id"));
  ExpectError([&] { Read(Nested("c", R"("id": [1], "question": "?")")); },
              {"data.json:1", "\"id\""});
}

TEST_F(SquadTest, RepeatedIdsAreToldApartWhereAnswersAreFiledByThem) {
  const std::string record = R"({"id": "x", "question": "?", "context": "c"})";
  const std::string content = "[" + record + "," + record + "," + record + "]";
  const auto ids = [&](QaUse use) {
    Texts all;
    for (const QaExample& example : Read(content, use).examples) all.push_back(example.id);
    return all;
  };
  EXPECT_EQ(ids(QaUse::kPredict), (Texts{"x", "x#2", "x#3"}));
  EXPECT_TRUE(Warned("2 of 3 questions (x, x)"));
  EXPECT_EQ(ids(QaUse::kScore), (Texts{"x", "x", "x"}));
}

TEST_F(SquadTest, NeighboursShareTheirContext) {
  const QaDataset dataset = Read(R"([{"question": "1", "context": "c"},
      {"question": "2", "context": "c"}, {"question": "3", "context": "d"}])");
  EXPECT_EQ(dataset.contexts, (Texts{"c", "d"}));
  EXPECT_EQ(dataset.examples[2].context, 1);
}

TEST_F(SquadTest, OnlyTheFirstExamplesAreRead) {
  const std::string content = R"([{"question": "1", "context": "c"},
      {"question": "2", "context": "c"}, {"question": 3, "context": []}])";
  EXPECT_EQ(Read(content, QaUse::kTrain, 2).examples.size(), 2u);
  EXPECT_EQ(Read(content, QaUse::kTrain, 0).examples.size(), 0u);
  ExpectError([&] { Read(content); }, {"data.json:2", "\"context\" is no text"});
}

TEST_F(SquadTest, BlankContextsAreNamed) {
  EXPECT_EQ(Read(Nested(" ", R"("id": "x", "question": "?")")).examples.size(), 1u);
  EXPECT_TRUE(Warned("the context is blank"));
}

TEST_F(SquadTest, OtherFilesAreRefusedWithTheirPlaceAndTheForm) {
  for (const char* content :
       {"", "[]", "{}", "{\"data\": []}", "[1]", "{\"data\": [{\"paragraphs\": 1}]}",
        "{\"data\": [{\"paragraphs\": [1]}]}", "{\"data\": [{\"paragraphs\": [{}]}]}",
        R"({"data": [{"paragraphs": [{"qas": [{"id": "x"}]}]}]})",
        R"({"data": [{"paragraphs": [{"context": "c", "qas": [1]}]}]})",
        R"({"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "x"}]}]}]})",
        R"([{"question": "?", "context": "c", "answers": 5}])",
        R"([{"question": "?", "context": "c", "answers": [5]}])",
        R"([{"question": "?", "context": "c", "answers": [{"text": [[]]}]}])",
        "{\"data\": [{\"a\""}) {
    ExpectError([&] { Read(content); }, {"data.json", "the file must have SQuAD's form"});
  }
}

}  // namespace
}  // namespace hagane::data
