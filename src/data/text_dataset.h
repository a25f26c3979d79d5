// From files to texts and labels, before tokenising: GLUE folders by task name, and own CSV / TSV /
// JSON files (spec 2.1, 2.2; docs/data.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/packed_batch.h"
#include "data/features.h"
#include "data/metrics.h"

namespace hagane::data {

// What the outputs mean. For classes: names[i] is class i as written in the data (GLUE: the task's
// names); id2label / label2id of config.json are made from it.
struct LabelSpec {
  ProblemType problem = ProblemType::kSingleLabel;
  int outputs = 2;
  std::vector<std::string> names;  // empty for regression
  MetricSet metrics = MetricSet::kAccuracy;
};

// One split, rows in file order.
struct TextSplit {
  std::string name;              // "train", "validation_matched" ... for messages
  std::filesystem::path origin;  // file it came from
  std::vector<std::string> text_a;
  std::vector<std::string> text_b;  // empty for single sentences
  bool has_labels = false;
  std::vector<int32_t> class_labels;  // -1: no usable label (test sets)
  std::vector<float> float_labels;
  int64_t rows() const { return static_cast<int64_t>(text_a.size()); }
};

struct TextDataset {
  LabelSpec labels;
  std::string task_name;  // GLUE task in lower case, or empty
  // Those that were asked for, in the reference's order: mnli has two of evaluation and prediction
  // (matched, mismatched); otherwise at most one each.
  std::optional<TextSplit> train;
  std::vector<TextSplit> evaluation;
  std::vector<TextSplit> prediction;
};

// Which splits to read and the cut to the first rows (before any shuffle).
struct SplitRequest {
  bool train = false, evaluation = false, prediction = false;
  std::optional<int64_t> max_train, max_evaluation, max_prediction;
};

bool IsGlueTask(const std::string& task_name);
const std::vector<std::string>& GlueTaskNames();

// `folder`: the task's folder of the GLUE download (train.tsv, dev.tsv, ...) or its parent.
TextDataset ReadGlue(const std::string& task_name, const std::filesystem::path& folder,
                     const SplitRequest& request, Log& log);

// Own files; the type is the extension: .csv, .tsv, .json, .jsonl. train is read for its labels
// even when only evaluation is asked for. With `max_*` labels are still found on all train rows.
struct OwnFiles {
  std::optional<std::filesystem::path> train, validation, test;
};
TextDataset ReadOwnFiles(const OwnFiles& files, const SplitRequest& request, Log& log);

// Class ids of `dataset` renumbered to the model's: `model_names[i]` is the model's class i; names
// are compared without case. Returns false (and changes nothing) unless both lists have the same
// names. The dataset's LabelSpec::names become the data's own names in the model's order.
bool RemapToModelLabels(const std::vector<std::string>& model_names, TextDataset* dataset);

}  // namespace hagane::data
