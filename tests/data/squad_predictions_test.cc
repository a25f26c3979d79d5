#include "data/squad_predictions.h"

#include "tests/data/test_files.h"

namespace hagane::data {
namespace {

class SquadPredictionsTest : public ::testing::Test {
 protected:
  SquadPredictionsTest() {
    for (const char* id : {"1", "2", "1"}) {
      QaExample example;
      example.id = id;
      dataset_.examples.push_back(example);
    }
  }
  std::string ErrorOfProbabilities(const std::string& content) {
    try {
      ReadNoAnswerProbabilities(folder_.Write("p.json", content), dataset_, log_);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  TemporaryFolder folder_;
  KeptLog log_;
  QaDataset dataset_;
};

TEST_F(SquadPredictionsTest, AreByExampleAndOnesOfOtherQuestionsAreCounted) {
  const auto file = folder_.Write("p.json", R"({"1": "a", "3": "b", "4": 5})");
  const SquadPredictions predictions(file, dataset_, log_);
  ASSERT_EQ(predictions.pointers().size(), 3u);
  EXPECT_EQ(*predictions.pointers()[0], "a");
  EXPECT_EQ(predictions.pointers()[1], nullptr);
  EXPECT_EQ(*predictions.pointers()[2], "a");
  ASSERT_EQ(log_.warnings.size(), 1u);
  EXPECT_NE(log_.warnings[0].find("2 of 3"), std::string::npos);
}

// Probabilities are sorted, and NaN is neither before nor behind a number.
TEST_F(SquadPredictionsTest, NaNIsNoProbability) {
  EXPECT_EQ(ErrorOfProbabilities(R"({"1": 0.5, "2": Infinity})"), "");
  EXPECT_NE(ErrorOfProbabilities(R"({"1": 0.5, "2": NaN})").find("\"2\" is no number"),
            std::string::npos);
  EXPECT_NE(ErrorOfProbabilities(R"({"1": "0.5"})").find("\"1\" is no number"), std::string::npos);
}

}  // namespace
}  // namespace hagane::data
