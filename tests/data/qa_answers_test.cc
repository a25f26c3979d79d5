#include "data/qa_answers.h"

#include <cmath>
#include <limits>

#include "tests/data/test_files.h"

namespace hagane::data {
namespace {

constexpr float kLow = -10;

// Questions on one context whose every code point is a token; a window is [CLS], one token of the
// question, [SEP], code points, [SEP].
class QaAnswersTest : public ::testing::Test {
 protected:
  explicit QaAnswersTest(std::string context = "abcdefgh") {
    ctx_.log = &log_;
    ctx_.threads = 2;
    dataset_.contexts = {std::move(context)};
    windows_.features.row_start = {0};
  }
  void AddQuestion(const std::string& id) {
    QaExample example;
    example.id = id;
    dataset_.examples.push_back(example);
  }
  // A window of the last question with the code points [begin, end); all logits are kLow.
  size_t AddWindow(int32_t begin, int32_t end) {
    const size_t first = windows_.features.ids.size();
    const auto tokens = static_cast<size_t>(end - begin) + 4;
    windows_.features.ids.resize(first + tokens);
    windows_.features.row_start.push_back(static_cast<int64_t>(first + tokens));
    windows_.example.push_back(static_cast<int32_t>(dataset_.examples.size()) - 1);
    windows_.offsets.resize(first + tokens, kNoOffset);
    for (int32_t i = begin; i < end; ++i)
      windows_.offsets[first + 3 + static_cast<size_t>(i - begin)] = {i, i + 1};
    logits_.resize(2 * (first + tokens), kLow);
    return first;
  }
  // The logits of the code point `c` of a window that begins with the code point 0.
  float& Start(size_t window, size_t c) { return logits_[2 * (window + 3 + c)]; }
  float& End(size_t window, size_t c) { return logits_[2 * (window + 3 + c) + 1]; }
  void SetNull(size_t window, float start, float end) {
    logits_[2 * window] = start;
    logits_[2 * window + 1] = end;
  }
  QaAnswers Find() { return FindQaAnswers(ctx_, dataset_, windows_, logits_, options_); }
  static std::string List(const std::vector<QaCandidate>& candidates) {
    std::string list;
    for (const QaCandidate& candidate : candidates) list += "[" + candidate.text + "]";
    return list;
  }

  RunContext ctx_;
  KeptLog log_;
  QaDataset dataset_;
  QaWindows windows_;
  std::vector<float> logits_;
  QaAnswerOptions options_;
};

TEST_F(QaAnswersTest, TheBestSpanOverAllWindowsIsTheAnswer) {
  AddQuestion("x");
  const size_t first = AddWindow(0, 4), second = AddWindow(2, 8);
  Start(first, 1) = 3, End(first, 2) = 3;    // bc: 6
  Start(second, 2) = 4, End(second, 3) = 5;  // ef: 9
  AddQuestion("y");
  const size_t other = AddWindow(0, 8);
  Start(other, 7) = End(other, 7) = 1;
  const QaAnswers answers = Find();
  EXPECT_EQ(answers.texts, (std::vector<std::string>{"ef", "h"}));
  EXPECT_EQ(answers.n_best[0].size(), 20u);
  EXPECT_EQ(answers.n_best[0][0].start_logit, 4);
  EXPECT_EQ(answers.n_best[0][0].end_logit, 5);
  EXPECT_EQ(answers.n_best[0][1].text, "bc");
  EXPECT_TRUE(answers.null_odds.empty());
}

TEST_F(QaAnswersTest, SpansDoNotRunBackwardsNorTooLongNorOutOfTheContext) {
  AddQuestion("x");
  const size_t window = AddWindow(0, 8);
  logits_[2 * (window + 1)] = 9;  // a start in the question
  Start(window, 5) = 8;
  End(window, 2) = 9;  // before that start
  Start(window, 1) = 7;
  options_.max_answer_length = 1;
  EXPECT_EQ(Find().texts[0], "c");
  options_.max_answer_length = 2;
  EXPECT_EQ(Find().texts[0], "bc");
}

TEST_F(QaAnswersTest, OnlyTheBestTokensOfAWindowStartAndEndSpans) {
  AddQuestion("x");
  const size_t window = AddWindow(0, 8);
  SetNull(window, 5, 5);  // special tokens take their places
  Start(window, 0) = 4, End(window, 7) = 4;
  Start(window, 3) = 3, End(window, 4) = 3;
  options_.n_best_size = 2;
  EXPECT_EQ(List(Find().n_best[0]), "[abcdefgh]");
  options_.n_best_size = 3;
  EXPECT_EQ(List(Find().n_best[0]), "[abcdefgh][abcde][defgh]");  // [de] is cut
}

TEST_F(QaAnswersTest, EqualLogitsGoToTheLaterTokenAndEqualScoresToTheEarlierFound) {
  AddQuestion("x");
  const size_t window = AddWindow(0, 8);
  for (const size_t c : {1u, 4u, 6u}) Start(window, c) = 1, End(window, c) = 1;
  options_.n_best_size = 2;  // tokens 6 and 4 are taken
  EXPECT_EQ(List(Find().n_best[0]), "[g][efg]");
  options_.n_best_size = 3;
  EXPECT_EQ(List(Find().n_best[0]), "[g][efg][e]");
}

TEST_F(QaAnswersTest, ProbabilitiesAreASoftmaxOverTheKeptCandidates) {
  AddQuestion("x");
  const size_t window = AddWindow(0, 2);
  Start(window, 0) = 1, End(window, 1) = 2;
  Start(window, 1) = 0.5f, End(window, 0) = -1;
  options_.n_best_size = 10;
  const std::vector<QaCandidate> n_best = Find().n_best[0];
  EXPECT_EQ(List(n_best), "[ab][b][a]");
  const double sum = 1 + std::exp(-0.5) + std::exp(-3);
  EXPECT_NEAR(n_best[0].probability, 1 / sum, 1e-6);
  EXPECT_NEAR(n_best[1].probability, std::exp(-0.5) / sum, 1e-6);
  EXPECT_NEAR(n_best[2].probability, std::exp(-3) / sum, 1e-6);
}

TEST_F(QaAnswersTest, WithoutCandidatesTheWordEmptyStands) {
  AddQuestion("none");  // without a window
  AddQuestion("blank");
  AddWindow(0, 0);
  const QaAnswers answers = Find();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(answers.texts[i], "empty");
    EXPECT_EQ(List(answers.n_best[i]), "[empty]");
    EXPECT_TRUE(answers.n_best[i][0].filler);
    EXPECT_EQ(answers.n_best[i][0].probability, 1);
  }
}

TEST_F(QaAnswersTest, NoAnswerIsTheLowestNullScoreOfAllWindowsAgainstTheThreshold) {
  options_.version_2 = true;
  AddQuestion("x");
  const size_t first = AddWindow(0, 4), second = AddWindow(2, 8);
  SetNull(first, 2, 3);
  SetNull(second, 6, 6);
  Start(second, 0) = 2, End(second, 1) = 1.5f;
  QaAnswers answers = Find();
  EXPECT_EQ(answers.null_odds[0], 1.5f);
  EXPECT_EQ(answers.texts[0], "");
  EXPECT_EQ(List(answers.n_best[0]).substr(0, 6), "[][cd]");
  options_.null_score_diff_threshold = 1.5f;  // not above it
  EXPECT_EQ(Find().texts[0], "cd");
}

TEST_F(QaAnswersTest, NoAnswerStaysInTheListWhenItIsWorseThanAllOfIt) {
  options_.version_2 = true;
  options_.n_best_size = 2;
  AddQuestion("x");
  const size_t window = AddWindow(0, 4);
  SetNull(window, -30, -30);
  Start(window, 1) = Start(window, 2) = End(window, 3) = 1;
  const QaAnswers answers = Find();
  EXPECT_EQ(List(answers.n_best[0]), "[cd][bcd][]");
  EXPECT_EQ(answers.texts[0], "cd");
  EXPECT_EQ(answers.null_odds[0], -62);
}

TEST_F(QaAnswersTest, NoAnswerAloneIsFollowingTheFiller) {
  options_.version_2 = true;
  AddQuestion("blank");
  const size_t window = AddWindow(0, 0);
  SetNull(window, 1, 1);
  AddQuestion("none");
  const QaAnswers answers = Find();
  EXPECT_EQ(List(answers.n_best[0]), "[empty][]");
  EXPECT_EQ(answers.texts[0], "");  // 2 - 0 is above 0
  EXPECT_EQ(answers.null_odds[0], 2);
  EXPECT_NEAR(answers.n_best[0][1].probability, std::exp(2) / (1 + std::exp(2)), 1e-6);
  EXPECT_EQ(answers.texts[1], "");
}

TEST_F(QaAnswersTest, ScoresThatAreNoNumbersAreLast) {
  AddQuestion("x");
  const size_t window = AddWindow(0, 8);
  for (float& logit : logits_) logit = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Find().texts.size(), 1u);
  Start(window, 2) = End(window, 2) = 0;
  EXPECT_EQ(Find().texts[0], "c");
}

TEST_F(QaAnswersTest, AnyNumberOfCandidatesAndAnyLengthMayBeAsked) {
  AddQuestion("x");
  const size_t window = AddWindow(0, 8);
  for (size_t c = 0; c < 8; ++c) Start(window, c) = static_cast<float>(c), End(window, c) = 0;
  options_.n_best_size = options_.max_answer_length = std::numeric_limits<int>::max();
  const QaAnswers answers = Find();
  EXPECT_EQ(answers.n_best[0].size(), 36u);
  for (size_t i = 1; i < 36; ++i) {
    EXPECT_GE(answers.n_best[0][i - 1].probability, answers.n_best[0][i].probability);
  }
}

TEST_F(QaAnswersTest, CuttingTheListOftenKeepsTheSameBest) {
  // 1,000 windows of 36 spans each: many more than a list of 3 ever holds.
  AddQuestion("x");
  for (int i = 0; i < 1000; ++i) {
    const size_t window = AddWindow(0, 8);
    for (size_t c = 0; c < 8; ++c) Start(window, c) = End(window, c) = static_cast<float>(c % 4);
    if (i == 500) Start(window, 1) = 50, End(window, 6) = 50;
  }
  options_.n_best_size = 3;
  EXPECT_EQ(List(Find().n_best[0]), "[bcdefg][bcdefgh][bcd]");
}

class UnicodeAnswersTest : public QaAnswersTest {
 protected:
  UnicodeAnswersTest() : QaAnswersTest("\U0001F600e\u0301\u6771\"\n") {}
};

TEST_F(UnicodeAnswersTest, TextsAreCodePointsAndFilesAreThoseOfPython) {
  options_.version_2 = true;
  options_.n_best_size = 1;
  AddQuestion("\u00E9");
  const size_t window = AddWindow(0, 6);
  SetNull(window, -20, -0.25f);
  Start(window, 0) = 0.1f, End(window, 5) = 1e-5f;
  AddQuestion("none");
  const QaAnswers answers = Find();
  EXPECT_EQ(answers.texts[0], dataset_.contexts[0]);
  EXPECT_EQ(
      PredictionsJson(dataset_, answers),
      "{\n    \"\\u00e9\": \"\\ud83d\\ude00e\\u0301\\u6771\\\"\\n\",\n    \"none\": \"\"\n}\n");
  EXPECT_EQ(NullOddsJson(dataset_, answers),
            "{\n    \"\\u00e9\": -20.35000991821289,\n    \"none\": 0.0\n}\n");
  EXPECT_EQ(NBestJson(dataset_, answers),
            "{\n    \"\\u00e9\": [\n        {\n            \"start_logit\": 0.10000000149011612,\n"
            "            \"end_logit\": 9.999999747378752e-06,\n"
            "            \"text\": \"\\ud83d\\ude00e\\u0301\\u6771\\\"\\n\",\n"
            "            \"probability\": 1.0\n        },\n        {\n"
            "            \"start_logit\": -20.0,\n            \"end_logit\": -0.25,\n"
            "            \"text\": \"\",\n            \"probability\": 1.4524560443263113e-09\n    "
            "    }\n"
            "    ],\n    \"none\": [\n        {\n            \"text\": \"empty\",\n"
            "            \"start_logit\": 0.0,\n            \"end_logit\": 0.0,\n"
            "            \"probability\": 1.0\n        }\n    ]\n}\n");
  EXPECT_EQ(PredictionsJson({}, {}), "{}\n");
}

}  // namespace
}  // namespace hagane::data
