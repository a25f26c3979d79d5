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

  // Batch b is rank b % size's; rank 0 puts the parts in file order.
  const int ranks = group_->size();
  const int64_t steps = (rows + batch_size - 1) / batch_size;
  const int64_t rounds = (steps + ranks - 1) / ranks;
  EvaluationResult result;
  std::vector<float> logits;   // of this rank's batches
  std::vector<double> losses;  // likewise, a sum each
  PackedBatch batch;
  std::vector<int64_t> indices;
  for (int64_t round = 0; round < rounds; ++round) {
    if (StopAgreedInRound(round)) {
      result.interrupted = true;
      break;
    }
    const int64_t begin = std::min(rows, (round * ranks + group_->rank()) * batch_size);
    const int64_t end = std::min(rows, begin + batch_size);
    if (begin < end) {
      indices.resize(static_cast<size_t>(end - begin));
      std::iota(indices.begin(), indices.end(), begin);
      data::PackRows(features, indices, 0, position_rule_, &batch);
      const size_t count = static_cast<size_t>(model_->LogitRows(batch)) * outputs;
      logits.resize(logits.size() + count);
      losses.push_back(model_->Evaluate(batch, std::span(logits).last(count)));
    }
    observer_->OnEvaluationProgress(std::min(rows, (round + 1) * ranks * batch_size), rows);
  }
  observer_->OnEvaluationEnd();
  if (result.interrupted) return result;

  const auto values_before = [&](int64_t row) {  // in the logits of all rows
    return static_cast<size_t>(by_token ? features.row_start[static_cast<size_t>(row)] : row) *
           outputs;
  };
  CollectEvaluation(rows, values_before, std::move(logits), std::move(losses), &result);
  if (features.has_labels && rows > 0) {
    result.loss /= static_cast<double>(model_->LossTerms(rows));
  } else {
    result.loss = std::numeric_limits<double>::quiet_NaN();
  }
  const std::string key = prefix + "_";
  if (features.has_labels && rows > 0) {
    result.metrics.emplace_back(key + "loss", static_cast<float>(result.loss));
  }
  try {
    for (const auto& [name, value] : LeadersMetrics(features, result.logits)) {
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
