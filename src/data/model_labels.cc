// RemapToModelLabels: a model that was fine-tuned before keeps its numbering of the classes.
#include <map>

#include "base/error.h"
#include "data/text_dataset.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace hagane::data {
namespace {

std::string FoldCase(const std::string& name) {
  std::string storage, folded;
  const std::string_view valid = text::ValidUtf8(name, storage);
  for (size_t i = 0; i < valid.size();) {
    const text::CodePoint c = text::DecodeUtf8(valid, i);
    const text::Expansion lower = text::ToLower(c.value);
    for (int k = 0; k < lower.size; ++k)
      text::AppendUtf8(lower.chars[static_cast<size_t>(k)], folded);
    i += c.length;
  }
  return folded;
}

// Folded name -> its place; empty when two names differ in case only.
std::map<std::string, size_t> Places(const std::vector<std::string>& names) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!places.emplace(FoldCase(names[i]), i).second) return {};
  }
  return places;
}

void Renumber(const std::vector<size_t>& new_id, ProblemType problem, TextSplit* split) {
  if (problem == ProblemType::kSingleLabel) {
    for (int32_t& label : split->class_labels) {
      if (label >= 0) label = static_cast<int32_t>(new_id[static_cast<size_t>(label)]);
    }
    return;
  }
  const size_t outputs = new_id.size();
  std::vector<float> row(outputs);
  for (size_t begin = 0; begin + outputs <= split->float_labels.size(); begin += outputs) {
    for (size_t i = 0; i < outputs; ++i) row[new_id[i]] = split->float_labels[begin + i];
    std::copy(row.begin(), row.end(),
              split->float_labels.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

}  // namespace

bool RemapToModelLabels(const std::vector<std::string>& model_names, TextDataset* dataset) {
  LabelSpec& labels = dataset->labels;
  const std::vector<std::string> own = labels.names;
  if (own.empty() || own.size() != model_names.size()) return false;
  const auto model_places = Places(model_names);
  if (model_places.empty() || Places(own).empty()) return false;
  std::vector<size_t> new_id;
  for (const std::string& name : own) {
    const auto place = model_places.find(FoldCase(name));
    if (place == model_places.end()) return false;
    new_id.push_back(place->second);
  }
  for (size_t i = 0; i < own.size(); ++i) labels.names[new_id[i]] = own[i];
  if (dataset->train) Renumber(new_id, labels.problem, &*dataset->train);
  for (TextSplit& split : dataset->evaluation) Renumber(new_id, labels.problem, &split);
  for (TextSplit& split : dataset->prediction) Renumber(new_id, labels.problem, &split);
  return true;
}

}  // namespace hagane::data
