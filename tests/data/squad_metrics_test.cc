#include "data/squad_metrics.h"

#include "tests/data/test_files.h"

namespace hagane::data {
namespace {

using Texts = std::vector<std::string>;

QaExample Question(const std::string& id, Texts answers) {
  QaExample example;
  example.id = id;
  example.answers = std::move(answers);
  example.has_answers = true;
  return example;
}

class SquadMetricsTest : public ::testing::Test {
 protected:
  // "name value, name value ..."
  std::string Scores(const Texts& predictions, bool version_2) {
    return Text(SquadMetrics(dataset_, predictions, version_2, log_));
  }
  static std::string Text(const std::vector<QaMetric>& metrics) {
    std::string text;
    for (const QaMetric& metric : metrics) {
      char value[64];
      snprintf(value, sizeof(value), "%.4g", metric.value);
      text += (text.empty() ? "" : ", ") + metric.name + " " + value;
    }
    return text;
  }
  QaDataset dataset_;
  KeptLog log_;
};

TEST_F(SquadMetricsTest, NormalisationIsTheOfficialOne) {
  EXPECT_EQ(NormalizeAnswer("The  Cat,\tan \"A\" and  THE Dog."), "cat and dog");
  EXPECT_EQ(NormalizeAnswer("a-the an_a theatre can"), "athe ana theatre can");
  EXPECT_EQ(NormalizeAnswer("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), "");
  // Only ASCII punctuation goes, which may join words and make articles.
  EXPECT_EQ(NormalizeAnswer("\u2018a\u2019 \u20AC5 t.h.e"), "\u2018 \u2019 \u20AC5");
  EXPECT_EQ(NormalizeAnswer("\u00C9T\u00C9 \u0130 \u039F\u03A3 \u03A3\u0391"),
            "\u00E9t\u00E9 i\u0307 \u03BF\u03C2 \u03C3\u03B1");
  EXPECT_EQ(NormalizeAnswer("x\u3000y\u00A0z\x1fw\u200Bv"), "x y z w\u200Bv");
  // A word boundary is one of Unicode: letters and digits of any script, but no combining marks.
  EXPECT_EQ(NormalizeAnswer("a\u6771 the\u0301 \u00E9a"), "a\u6771 \u0301 \u00E9a");
}

TEST_F(SquadMetricsTest, Version1TakesTheBestGoldAnswerOfEachQuestion) {
  dataset_.examples = {Question("x", {"no", "the big cat"}), Question("y", {"dogs"})};
  EXPECT_EQ(Scores({"Big cat!", "dogs dogs cats"}, false), "exact_match 50, f1 75");
}

TEST_F(SquadMetricsTest, CommonTokensAreCountedAsOftenAsInBoth) {
  dataset_.examples = {Question("x", {"b b c d"})};
  // 2 common of 3 predicted and 4 gold.
  EXPECT_EQ(Scores({"b c c"}, false), "exact_match 0, f1 57.14");
}

TEST_F(SquadMetricsTest, TextsWithoutTokensHaveNoF1InVersion1AndTheirEqualityInVersion2) {
  dataset_.examples = {Question("x", {"the"})};
  EXPECT_EQ(Scores({"a"}, false), "exact_match 100, f1 0");
  EXPECT_EQ(Scores({"cat"}, false), "exact_match 0, f1 0");
  // In 2.0 a gold answer that normalises to nothing is dropped; none left: "" is right.
  EXPECT_EQ(Scores({"a"}, true),
            "exact 100, f1 100, total 1, HasAns_exact 100, HasAns_f1 100, HasAns_total 1, "
            "best_exact 100, best_exact_thresh 0, best_f1 100, best_f1_thresh 0");
  EXPECT_EQ(Scores({"cat"}, true).substr(0, 13), "exact 0, f1 0");
}

TEST_F(SquadMetricsTest, Version2GroupsAndPrefixMaximum) {
  dataset_.examples = {Question("x", {"cat"}), Question("y", {}), Question("z", {"big dog"})};
  // Starts from 1 unanswerable question, +1 (x), -1 (y was answered), +1 exact or F1 (z).
  EXPECT_EQ(Scores({"cat", "cat", "dog"}, true),
            "exact 33.33, f1 55.56, total 3, HasAns_exact 50, HasAns_f1 83.33, HasAns_total 2, "
            "NoAns_exact 0, NoAns_f1 0, NoAns_total 1, best_exact 66.67, best_exact_thresh 0, "
            "best_f1 66.67, best_f1_thresh 0");
  dataset_.examples = {Question("y", {})};
  EXPECT_EQ(Scores({""}, true),
            "exact 100, f1 100, total 1, NoAns_exact 100, NoAns_f1 100, NoAns_total 1, "
            "best_exact 100, best_exact_thresh 0, best_f1 100, best_f1_thresh 0");
}

TEST_F(SquadMetricsTest, QuestionsWithoutKnownAnswersAreLeftOutAndNamed) {
  dataset_.examples = {Question("x", {"cat"}), Question("y", {}), Question("z", {})};
  dataset_.examples[2].has_answers = false;
  EXPECT_EQ(Scores({"cat", "", ""}, false), "exact_match 100, f1 100");
  ASSERT_EQ(log_.warnings.size(), 1u);
  EXPECT_NE(log_.warnings[0].find("2 questions (y, z) have no gold answer"), std::string::npos);
  EXPECT_EQ(Scores({"cat", "", ""}, true).substr(0, 29), "exact 100, f1 100, total 2, H");
  dataset_.examples.erase(dataset_.examples.begin());
  ExpectError([&] { Scores({"", ""}, false); }, {"no question has a gold answer"});
}

TEST_F(SquadMetricsTest, ThresholdSearchStopsWhereAnsweringMoreIsWorse) {
  dataset_.examples = {Question("a", {"cat"}), Question("b", {}), Question("c", {"dog"})};
  const Texts texts = {"cat", "cow", "dog"};
  const std::vector<const std::string*> predictions = {&texts[0], &texts[1], &texts[2]};
  SquadScoring scoring;
  scoring.version_2 = scoring.search_threshold = true;
  scoring.no_answer = {{2, 0.5}, {1, 0.75}, {0, 0.25}};
  scoring.no_answer_threshold = 0.5;  // not above: c is answered
  EXPECT_EQ(Text(SquadMetrics(dataset_, predictions, scoring, log_)),
            "exact 100, f1 100, total 3, HasAns_exact 100, HasAns_f1 100, HasAns_total 2, "
            "NoAns_exact 100, NoAns_f1 100, NoAns_total 1, best_exact 100, best_exact_thresh 0.5, "
            "best_f1 100, best_f1_thresh 0.5");
}

TEST_F(SquadMetricsTest, AMissingPredictionScoresNothing) {
  dataset_.examples = {Question("a", {"cat"}), Question("b", {})};
  const std::vector<const std::string*> predictions = {nullptr, nullptr};
  SquadScoring scoring;
  scoring.version_2 = true;
  EXPECT_EQ(Text(SquadMetrics(dataset_, predictions, scoring, log_)),
            "exact 0, f1 0, total 2, HasAns_exact 0, HasAns_f1 0, HasAns_total 1, NoAns_exact 0, "
            "NoAns_f1 0, NoAns_total 1");
  EXPECT_EQ(log_.warnings.size(), 1u);
}

}  // namespace
}  // namespace hagane::data
