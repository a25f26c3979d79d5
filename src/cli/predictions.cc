#include "cli/predictions.h"

#include <fmt/format.h>

#include "data/metrics.h"

namespace hagane::cli {

namespace {

std::string NameOf(const data::LabelSpec& labels, size_t id) {
  return id < labels.names.size() ? labels.names[id] : std::to_string(id);
}

}  // namespace

std::string PredictionsText(const data::LabelSpec& labels, std::span<const float> logits) {
  const auto outputs = static_cast<size_t>(labels.outputs);
  const size_t rows = logits.size() / outputs;
  std::string text = "index\tprediction\n";
  if (labels.problem == ProblemType::kSingleLabel) {
    const std::vector<int32_t> classes = data::ArgMax(logits, labels.outputs);
    for (size_t row = 0; row < rows; ++row) {
      text += fmt::format("{}\t{}\n", row, NameOf(labels, static_cast<size_t>(classes[row])));
    }
    return text;
  }
  for (size_t row = 0; row < rows; ++row) {
    if (labels.problem == ProblemType::kRegression) {
      text += fmt::format("{}\t{:3.3f}\n", row, logits[row * outputs]);
      continue;
    }
    std::string names;
    for (size_t i = 0; i < outputs; ++i) {
      if (logits[row * outputs + i] <= 0) continue;  // sigmoid(0) = 1/2
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", NameOf(labels, i));
    }
    text += fmt::format("{}\t[{}]\n", row, names);
  }
  return text;
}

}  // namespace hagane::cli
