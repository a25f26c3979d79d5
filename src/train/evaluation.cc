// Evaluation and prediction: sequential batches without padding, the reference's metric keys.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "data/interrupted.h"
#include "data/packing.h"
#include "train/trainer.h"

namespace hagane::train {

namespace {

// Rounded as the reference rounds its speed figures.
double Rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

}  // namespace

EvaluationMetrics LabelMetrics(data::MetricSet set) {
  EvaluationMetrics metrics;
  metrics.names = data::MetricNames(set);
  metrics.names.insert(metrics.names.begin(), "loss");
  metrics.compute = [set](const data::Features& features, std::span<const float> logits) {
    const bool judged = features.has_labels && features.rows() > 0;
    return judged ? data::ComputeMetrics(set, features, logits) : Metrics();
  };
  return metrics;
}

EvaluationResult Trainer::RunEvaluation(const data::Features& features, const std::string& prefix,
                                        const std::string& what) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const int64_t rows = features.rows();
  const int64_t batch_size = options_.eval_batch_size;
  const auto outputs = static_cast<size_t>(model_->options().outputs);
  const bool by_token = model_->options().problem == ProblemType::kSpan;
  observer_->OnEvaluationBegin({what, rows, batch_size});

  EvaluationResult result;
  result.logits.resize(static_cast<size_t>(by_token ? features.tokens() : rows) * outputs);
  std::span<float> logits_left = result.logits;
  PackedBatch batch;
  std::vector<int64_t> indices;
  double loss_sum = 0;
  int64_t steps = 0;
  for (int64_t begin = 0; begin < rows; begin += batch_size, ++steps) {
    if (observer_->StopRequested()) {
      result.interrupted = true;
      break;
    }
    const int64_t end = std::min(rows, begin + batch_size);
    indices.resize(static_cast<size_t>(end - begin));
    std::iota(indices.begin(), indices.end(), begin);
    data::PackRows(features, indices, 0, position_rule_, &batch);
    const size_t count = static_cast<size_t>(model_->LogitRows(batch)) * outputs;
    loss_sum += model_->Evaluate(batch, logits_left.first(count));
    logits_left = logits_left.subspan(count);
    observer_->OnEvaluationProgress(end, rows);
  }
  observer_->OnEvaluationEnd();

  result.loss = features.has_labels && rows > 0
                    ? loss_sum / static_cast<double>(model_->LossTerms(rows))
                    : std::numeric_limits<double>::quiet_NaN();
  if (result.interrupted) return result;
  const std::string key = prefix + "_";
  if (features.has_labels && rows > 0) {
    result.metrics.emplace_back(key + "loss", static_cast<float>(result.loss));
  }
  try {
    for (const auto& [name, value] : metrics_.compute(features, result.logits)) {
      result.metrics.emplace_back(key + name, value);
    }
  } catch (const data::Interrupted&) {
    result.interrupted = true;
    return result;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  result.metrics.emplace_back(key + "runtime", Rounded(seconds, 4));
  result.metrics.emplace_back(key + "samples_per_second",
                              Rounded(static_cast<double>(rows) / seconds, 3));
  result.metrics.emplace_back(key + "steps_per_second",
                              Rounded(static_cast<double>(steps) / seconds, 3));
  return result;
}

EvaluationResult Trainer::Evaluate(const data::Features& features, const std::string& prefix) {
  return RunEvaluation(features, prefix, "Evaluation");
}

EvaluationResult Trainer::Predict(const data::Features& features) {
  return RunEvaluation(features, "test", "Prediction");
}

}  // namespace hagane::train
