// How an evaluation is judged: by the task, which knows what the logits mean.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/features.h"
#include "data/metrics.h"

namespace hagane::train {

// Names and values in the reference's order.
using Metrics = std::vector<std::pair<std::string, double>>;

struct EvaluationMetrics {
  // What an evaluation in training gives, "loss" included where the rows have labels; without
  // prefix. Known before anything is computed, so that a wrong --metric_for_best_model is found
  // before hours of training.
  std::vector<std::string> names;
  // From the logits of all rows of `features`, as nn::Model gives them; without prefix and loss.
  std::function<Metrics(const data::Features& features, std::span<const float> logits)> compute;
};

// The GLUE tasks' metrics: loss, and those of `set` where the rows have labels.
EvaluationMetrics LabelMetrics(data::MetricSet set);

}  // namespace hagane::train
