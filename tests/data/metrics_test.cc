#include "data/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hagane::data {
namespace {

// Expected values: scikit-learn 1.9 and SciPy 1.17.
constexpr double kTolerance = 1e-14;

Features Classes(std::vector<int32_t> labels, int outputs) {
  Features features;
  features.row_start.assign(labels.size() + 1, 0);
  features.has_labels = true;
  features.outputs = outputs;
  features.class_labels = std::move(labels);
  return features;
}

Features Floats(std::vector<float> labels, int outputs, ProblemType problem) {
  Features features;
  features.row_start.assign(labels.size() / static_cast<size_t>(outputs) + 1, 0);
  features.has_labels = true;
  features.problem = problem;
  features.outputs = outputs;
  features.float_labels = std::move(labels);
  return features;
}

// Logits whose largest column is the class.
std::vector<float> Predict(const std::vector<int>& classes, int outputs) {
  std::vector<float> logits;
  for (const int c : classes) {
    for (int i = 0; i < outputs; ++i) logits.push_back(i == c ? 0.25f : -1.0f);
  }
  return logits;
}

void ExpectMetrics(const std::vector<std::pair<std::string, double>>& got,
                   const std::vector<std::pair<std::string, double>>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].first, expected[i].first);
    if (std::isnan(expected[i].second)) {
      EXPECT_TRUE(std::isnan(got[i].second)) << got[i].first << " " << got[i].second;
    } else {
      EXPECT_NEAR(got[i].second, expected[i].second, kTolerance) << got[i].first;
    }
  }
}

const std::vector<int32_t> kLabels = {0, 1, 0, 0, 1, 1, 1, 0, 0, 1};
const std::vector<int> kPredictions = {0, 1, 1, 0, 1, 0, 1, 1, 0, 0};

TEST(Metrics, OfTwoClassesEqualTheReference) {
  const Features features = Classes(kLabels, 2);
  const std::vector<float> logits = Predict(kPredictions, 2);
  ExpectMetrics(ComputeMetrics(MetricSet::kMatthews, features, logits),
                {{"matthews_correlation", 0.2}});
  ExpectMetrics(ComputeMetrics(MetricSet::kAccuracy, features, logits), {{"accuracy", 0.6}});
  const std::vector<float> ones = Predict(std::vector<int>(10, 1), 2);
  ExpectMetrics(ComputeMetrics(MetricSet::kAccuracyF1, features, ones),
                {{"accuracy", 0.5}, {"f1", 2.0 / 3.0}, {"combined_score", 7.0 / 12.0}});
}

TEST(Metrics, OfThreeClassesEqualTheReference) {
  const Features features = Classes({0, 1, 1, 0, 2, 2, 1, 0, 0, 2}, 3);
  const std::vector<float> logits = Predict({0, 2, 1, 0, 2, 1, 1, 2, 0, 0}, 3);
  ExpectMetrics(ComputeMetrics(MetricSet::kMatthews, features, logits),
                {{"matthews_correlation", 0.3939393939393939}});
  ExpectMetrics(ComputeMetrics(MetricSet::kAccuracy, features, logits), {{"accuracy", 0.6}});
}

TEST(Metrics, AreZeroWhereThereIsNothingToCorrelate) {
  const Features features = Classes(kLabels, 2);
  ExpectMetrics(ComputeMetrics(MetricSet::kMatthews, features, Predict(std::vector<int>(10, 1), 2)),
                {{"matthews_correlation", 0.0}});
  ExpectMetrics(
      ComputeMetrics(MetricSet::kAccuracyF1, features, Predict(std::vector<int>(10, 0), 2)),
      {{"accuracy", 0.5}, {"f1", 0.0}, {"combined_score", 0.25}});
}

TEST(Metrics, OfARegressionEqualTheReferenceWithTiedRanks) {
  const Features features =
      Floats({0.0f, 2.5f, 2.5f, 4.0f, 1.0f, 5.0f, 3.8f, 1.0f}, 1, ProblemType::kRegression);
  const std::vector<float> logits = {0.5f, 2.25f, 3.0f, 3.0f, 1.75f, 4.5f, 5.125f, 0.0f};
  const double pearson = 0.8819547819709509, spearman = 0.8545611491092097;
  ExpectMetrics(ComputeMetrics(MetricSet::kPearsonSpearman, features, logits),
                {{"pearson", pearson},
                 {"spearmanr", spearman},
                 {"combined_score", (pearson + spearman) / 2}});
  ExpectMetrics(ComputeMetrics(MetricSet::kMse, features, logits), {{"mse", 0.6413281407952311}});
}

TEST(Metrics, OfAConstantPredictionAreNotANumberInACorrelation) {
  const Features features = Floats({0, 1, 2, 3}, 1, ProblemType::kRegression);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ExpectMetrics(ComputeMetrics(MetricSet::kPearsonSpearman, features, std::vector<float>(4, 0.1f)),
                {{"pearson", nan}, {"spearmanr", nan}, {"combined_score", nan}});
}

TEST(Metrics, OfManyLabelsCountLogitsAboveZero) {
  const Features features =
      Floats({1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1}, 3, ProblemType::kMultiLabel);
  ExpectMetrics(ComputeMetrics(
                    MetricSet::kMicroF1, features,
                    std::vector<float>{1.5f, -0.2f, 0.1f, -1, 0, 2, 0.3f, 0.4f, -0.5f, -2, -1, -3}),
                {{"f1", 0.5454545454545454}});
}

TEST(Metrics, AreCalledWhatIsSaidBefore) {
  const Features classes = Classes({0, 1}, 2);
  const Features real = Floats({1, 2}, 1, ProblemType::kRegression);
  const Features many = Floats({0, 1}, 2, ProblemType::kMultiLabel);
  for (const auto& [set, features] :
       {std::pair{MetricSet::kMatthews, classes}, std::pair{MetricSet::kAccuracy, classes},
        std::pair{MetricSet::kAccuracyF1, classes}, std::pair{MetricSet::kPearsonSpearman, real},
        std::pair{MetricSet::kMse, real}, std::pair{MetricSet::kMicroF1, many}}) {
    const auto size = static_cast<size_t>(features.rows() * features.outputs);
    std::vector<std::string> names;
    for (const auto& [name, value] : ComputeMetrics(set, features, std::vector<float>(size))) {
      names.push_back(name);
    }
    EXPECT_EQ(MetricNames(set), names);
  }
}

TEST(ArgMax, TakesTheFirstMaximum) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(ArgMax(std::vector<float>{1, 3, 3, -1, -1, -2, 0, nan, 9}, 3),
            (std::vector<int32_t>{1, 0, 1}));
}

}  // namespace
}  // namespace hagane::data
