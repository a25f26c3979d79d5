#include "cli/predictions.h"

#include <gtest/gtest.h>

namespace hagane::cli {
namespace {

TEST(PredictionsTest, ClassesAreNamedAndTheFirstMaximumWins) {
  data::LabelSpec labels;
  labels.outputs = 2;
  labels.names = {"no", "yes"};
  const float logits[] = {1, 2, 3, -1, 5, 5};
  EXPECT_EQ(PredictionsText(labels, logits), "index\tprediction\n0\tyes\n1\tno\n2\tno\n");
}

TEST(PredictionsTest, RegressionHasThreeDecimals) {
  data::LabelSpec labels;
  labels.problem = ProblemType::kRegression;
  labels.outputs = 1;
  const float logits[] = {1.23456f, -0.5f};
  EXPECT_EQ(PredictionsText(labels, logits), "index\tprediction\n0\t1.235\n1\t-0.500\n");
}

TEST(PredictionsTest, MultiLabelListsTheNames) {
  data::LabelSpec labels;
  labels.problem = ProblemType::kMultiLabel;
  labels.outputs = 3;
  labels.names = {"a", "b", "c"};
  const float logits[] = {1, -1, 2, -1, -1, -1};
  EXPECT_EQ(PredictionsText(labels, logits), "index\tprediction\n0\t['a', 'c']\n1\t[]\n");
}

}  // namespace
}  // namespace hagane::cli
