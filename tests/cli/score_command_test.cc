#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/captured_streams.h"
#include "tests/io/temporary_folder.h"

namespace hagane::cli {
namespace {

class ScoreCommandTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_.path() / name) << content;
    return (folder_.path() / name).string();
  }
  // Two questions with the answers "a cat" and "dogs", and with `more` behind them.
  std::string Dataset(const std::string& more = "") {
    return Write("dataset.json", R"({"data": [{"paragraphs": [{"context": "a cat and dogs", "qas": [
        {"id": "x", "question": "?", "answers": [{"text": "a cat", "answer_start": 0}]},
        {"id": "y", "question": "?", "answers": [{"text": "dogs", "answer_start": 10}]})" +
                                     more + "]}]}]}");
  }
  Outcome Score(std::vector<std::string> args) {
    args.insert(args.begin(), "score");
    return RunProgram(args);
  }
  io::TemporaryFolder folder_;
};

constexpr char kNoAnswer[] =
    R"(, {"id": "z", "question": "?", "is_impossible": true, "answers": []})";

TEST_F(ScoreCommandTest, Version1PrintsExactMatchAndF1) {
  const std::string predictions = Write("p.json", R"({"x": "the cat", "y": "big dogs"})");
  const Outcome outcome = Score({"--dataset", Dataset(), "--predictions", predictions});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "exact_match = 50.0\nf1          = 83.33333333333333\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(ScoreCommandTest, MissingPredictionsScoreNothingAndAreNamed) {
  const std::string predictions = Write("p.json", R"({"x": "cat", "other": "?"})");
  const Outcome outcome = Score({"--dataset", Dataset(), "--predictions", predictions, "--json"});
  EXPECT_EQ(outcome.out, "{\"exact_match\": 50.0, \"f1\": 50.0}\n");
  EXPECT_NE(outcome.err.find("1 of 2 questions (y) have no prediction"), std::string::npos);
  EXPECT_NE(outcome.err.find("1 of 2 predictions"), std::string::npos);
}

TEST_F(ScoreCommandTest, Version2HasGroupsAndGoesToTheFile) {
  const std::string predictions = Write("p.json", R"({"x": "cat", "y": "", "z": ""})");
  const std::string out = (folder_.path() / "scores.json").string();
  const Outcome outcome = Score(
      {"--dataset", Dataset(kNoAnswer), "--predictions", predictions, "--out", out, "--json"});
  EXPECT_EQ(outcome.out,
            "{\"exact\": 66.66666666666667, \"f1\": 66.66666666666667, \"total\": 3, "
            "\"HasAns_exact\": 50.0, \"HasAns_f1\": 50.0, \"HasAns_total\": 2, "
            "\"NoAns_exact\": 100.0, \"NoAns_f1\": 100.0, \"NoAns_total\": 1}\n");
  std::ifstream file(out);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), outcome.out);
}

TEST_F(ScoreCommandTest, ProbabilitiesMoveAnswersAndFindTheBestThreshold) {
  const std::string predictions = Write("p.json", R"({"x": "cat", "y": "dogs", "z": "cat"})");
  const std::string probabilities = Write("na.json", R"({"z": 0.8, "y": 0.25, "x": 0.1})");
  const std::vector<std::string> args = {
      "--dataset",   Dataset(kNoAnswer), "--predictions", predictions, "--na_prob_file",
      probabilities, "--na_prob_th",     "0.2",           "--json"};
  // At 0.2 only x is answered; 0.25 would be best.
  EXPECT_EQ(Score(args).out,
            "{\"exact\": 66.66666666666667, \"f1\": 66.66666666666667, \"total\": 3, "
            "\"HasAns_exact\": 50.0, \"HasAns_f1\": 50.0, \"HasAns_total\": 2, "
            "\"NoAns_exact\": 100.0, \"NoAns_f1\": 100.0, \"NoAns_total\": 1, "
            "\"best_exact\": 100.0, \"best_exact_thresh\": 0.25, \"best_f1\": 100.0, "
            "\"best_f1_thresh\": 0.25}\n");
}

TEST_F(ScoreCommandTest, WrongInputIsNamed) {
  const std::string predictions = Write("p.json", R"({"x": ["cat"]})");
  Outcome outcome = Score({"--dataset", Dataset(), "--predictions", predictions});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("the prediction of \"x\" is no text"), std::string::npos);
  outcome = Score({"--dataset", Dataset()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("--predictions is missing"), std::string::npos);
  const std::string good = Write("good.json", "{}");
  outcome = Score({"--dataset", Dataset(), "--predictions", good, "--na_prob_file", good});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("needs SQuAD 2.0 data"), std::string::npos);
}

TEST_F(ScoreCommandTest, RealPredictionsHaveTheOfficialScores) {
  const std::filesystem::path squad = std::filesystem::path(HAGANE_SHARED_DIR) / "data/squad";
  if (!std::filesystem::exists(squad)) GTEST_SKIP() << squad << " is not there";
  const auto scores = [&](const char* predictions) {
    return Score({"--dataset", squad / "dev-v1.1.json", "--predictions",
                  squad / "predictions" / predictions, "--json"});
  };
  EXPECT_EQ(scores("dev-v1.1.bert-ensemble.json").out,
            "{\"exact_match\": 86.20624408703878, \"f1\": 92.19557978351145}\n");
  const Outcome regression = scores("dev-v1.1.logistic-regression.json");
  EXPECT_EQ(regression.out, "{\"exact_match\": 40.14191106906339, \"f1\": 50.98153647324461}\n");
  EXPECT_NE(regression.err.find("13 of 10570 questions"), std::string::npos);
}

}  // namespace
}  // namespace hagane::cli
