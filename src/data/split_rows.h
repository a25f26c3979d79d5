// What both readers do to a split once its rows are there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "data/text_dataset.h"

namespace hagane::data {

// A cut to the first `most` rows; none: all stay.
inline void KeepFirstRows(std::optional<int64_t> most, const LabelSpec& labels, TextSplit* split) {
  if (!most || *most >= split->rows()) return;
  const auto rows = static_cast<size_t>(std::max<int64_t>(*most, 0));
  const size_t outputs = static_cast<size_t>(labels.outputs);
  split->text_a.resize(rows);
  if (!split->text_b.empty()) split->text_b.resize(rows);
  if (!split->class_labels.empty()) split->class_labels.resize(rows);
  if (!split->float_labels.empty()) split->float_labels.resize(rows * outputs);
}

inline void SetNoLabels(const LabelSpec& labels, TextSplit* split) {
  split->has_labels = false;
  if (labels.problem == ProblemType::kSingleLabel)
    split->class_labels.assign(split->text_a.size(), -1);
}

}  // namespace hagane::data
