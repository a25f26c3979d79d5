// Metrics of the tasks, equal to Hugging Face evaluate's glue / accuracy / mse.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/features.h"

namespace hagane::data {

// Which set: the GLUE task's, or by problem type without task (accuracy; mse; micro f1).
enum class MetricSet { kMatthews, kAccuracy, kAccuracyF1, kPearsonSpearman, kMse, kMicroF1 };

// (name, value) in the reference's order, without prefix; more than one value: combined_score,
// their mean, is appended. `logits` is [rows, outputs]; labels are the features' own. Degenerate
// input (constant predictions in a correlation) gives what the reference gives (nan, or 0 for
// matthews/f1).
std::vector<std::pair<std::string, double>> ComputeMetrics(MetricSet set, const Features& features,
                                                           std::span<const float> logits);

// The names that ComputeMetrics gives, known before anything is computed.
std::vector<std::string> MetricNames(MetricSet set);

// Column of the first maximum of each row.
std::vector<int32_t> ArgMax(std::span<const float> logits, int outputs);

}  // namespace hagane::data
