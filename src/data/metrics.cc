#include "data/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace hagane::data {
namespace {

using Values = std::vector<std::pair<std::string, double>>;

double Accuracy(std::span<const int32_t> predicted, std::span<const int32_t> labels) {
  int64_t right = 0;
  for (size_t i = 0; i < labels.size(); ++i) right += predicted[i] == labels[i];
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

double F1(int64_t true_positive, int64_t false_positive, int64_t false_negative) {
  const int64_t denominator = 2 * true_positive + false_positive + false_negative;
  return denominator == 0
             ? 0.0
             : 2.0 * static_cast<double>(true_positive) / static_cast<double>(denominator);
}

// Of class 1.
double BinaryF1(std::span<const int32_t> predicted, std::span<const int32_t> labels) {
  int64_t both = 0, only_predicted = 0, only_label = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const bool p = predicted[i] == 1, l = labels[i] == 1;
    both += p && l;
    only_predicted += p && !l;
    only_label += !p && l;
  }
  return F1(both, only_predicted, only_label);
}

double MicroF1(std::span<const float> logits, std::span<const float> labels) {
  int64_t both = 0, only_predicted = 0, only_label = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const bool p = logits[i] > 0, l = labels[i] > 0.5f;
    both += p && l;
    only_predicted += p && !l;
    only_label += !p && l;
  }
  return F1(both, only_predicted, only_label);
}

// For any number of classes; 0 where a side is constant.
double Matthews(std::span<const int32_t> predicted, std::span<const int32_t> labels, int classes) {
  std::vector<double> predictions(static_cast<size_t>(classes)),
      truths(static_cast<size_t>(classes));
  double right = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    ++predictions[static_cast<size_t>(predicted[i])];
    ++truths[static_cast<size_t>(labels[i])];
    right += predicted[i] == labels[i];
  }
  const auto n = static_cast<double>(labels.size());
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const double covariance = right * n - dot(predictions, truths);
  const double spread_predicted = n * n - dot(predictions, predictions);
  const double spread_labels = n * n - dot(truths, truths);
  if (spread_predicted * spread_labels == 0) return 0;
  return covariance / std::sqrt(spread_predicted * spread_labels);
}

// nan where a side is constant.
double Pearson(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - mean_x, dy = y[i] - mean_y;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  const auto constant = [](std::span<const double> v) {
    return std::all_of(v.begin(), v.end(), [&](double value) { return value == v[0]; });
  };
  // Asked of the values, not of the sums: those of a constant may be off zero by rounding.
  if (constant(x) || constant(y)) return std::nan("");
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

// From 1; equal values share the average of their ranks.
std::vector<double> Ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
    begin = end;
  }
  return ranks;
}

Values Correlations(std::span<const float> logits, std::span<const float> labels) {
  const std::vector<double> x(logits.begin(), logits.end()), y(labels.begin(), labels.end());
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (std::any_of(x.begin(), x.end(), is_nan))
    return {{"pearson", std::nan("")}, {"spearmanr", std::nan("")}};
  return {{"pearson", Pearson(x, y)}, {"spearmanr", Pearson(Ranks(x), Ranks(y))}};
}

double MeanSquaredError(std::span<const float> logits, std::span<const float> labels) {
  double sum = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const double difference = static_cast<double>(logits[i]) - static_cast<double>(labels[i]);
    sum += difference * difference;
  }
  return sum / static_cast<double>(labels.size());
}

}  // namespace

std::vector<int32_t> ArgMax(std::span<const float> logits, int outputs) {
  HAGANE_CHECK(outputs > 0 && logits.size() % static_cast<size_t>(outputs) == 0);
  std::vector<int32_t> columns;
  columns.reserve(logits.size() / static_cast<size_t>(outputs));
  for (size_t row = 0; row < logits.size(); row += static_cast<size_t>(outputs)) {
    int32_t best = 0;
    for (int32_t i = 1; i < outputs; ++i) {
      const float challenger = logits[row + static_cast<size_t>(i)];
      const float champion = logits[row + static_cast<size_t>(best)];
      // As numpy: the first nan counts as the maximum.
      if (challenger > champion || (std::isnan(challenger) && !std::isnan(champion))) best = i;
    }
    columns.push_back(best);
  }
  return columns;
}

std::vector<std::string> MetricNames(MetricSet set) {
  switch (set) {
    case MetricSet::kMatthews:
      return {"matthews_correlation"};
    case MetricSet::kAccuracy:
      return {"accuracy"};
    case MetricSet::kAccuracyF1:
      return {"accuracy", "f1", "combined_score"};
    case MetricSet::kPearsonSpearman:
      return {"pearson", "spearmanr", "combined_score"};
    case MetricSet::kMse:
      return {"mse"};
    case MetricSet::kMicroF1:
      return {"f1"};
  }
  return {};
}

Values ComputeMetrics(MetricSet set, const Features& features, std::span<const float> logits) {
  const auto rows = static_cast<size_t>(features.rows());
  HAGANE_CHECK(features.has_labels &&
               logits.size() == rows * static_cast<size_t>(features.outputs));
  std::vector<int32_t> predicted;
  if (features.problem == ProblemType::kSingleLabel) {
    predicted = ArgMax(logits, features.outputs);
    HAGANE_CHECK(features.class_labels.size() == rows);
  } else {
    HAGANE_CHECK(features.float_labels.size() == logits.size());
  }
  Values values;
  switch (set) {
    case MetricSet::kMatthews:
      values = {
          {"matthews_correlation", Matthews(predicted, features.class_labels, features.outputs)}};
      break;
    case MetricSet::kAccuracy:
      values = {{"accuracy", Accuracy(predicted, features.class_labels)}};
      break;
    case MetricSet::kAccuracyF1:
      values = {{"accuracy", Accuracy(predicted, features.class_labels)},
                {"f1", BinaryF1(predicted, features.class_labels)}};
      break;
    case MetricSet::kPearsonSpearman:
      values = Correlations(logits, features.float_labels);
      break;
    case MetricSet::kMse:
      values = {{"mse", MeanSquaredError(logits, features.float_labels)}};
      break;
    case MetricSet::kMicroF1:
      values = {{"f1", MicroF1(logits, features.float_labels)}};
      break;
  }
  if (values.size() > 1) {
    double sum = 0;
    for (const auto& [name, value] : values) sum += value;
    values.emplace_back("combined_score", sum / static_cast<double>(values.size()));
  }
  return values;
}

}  // namespace hagane::data
