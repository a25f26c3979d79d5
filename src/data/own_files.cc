// ReadOwnFiles: see docs/data.md for the rules.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/labels.h"
#include "data/raw_split.h"
#include "data/split_rows.h"
#include "data/text_dataset.h"

namespace hagane::data {
namespace {

// Takes the texts out of `raw`.
TextSplit TakeTexts(const char* name, RawSplit* raw) {
  TextSplit split;
  split.name = name;
  split.origin = raw->path;
  split.text_a = std::move(raw->text_a);
  split.text_b = std::move(raw->text_b);
  return split;
}

const std::filesystem::path& Needed(const std::optional<std::filesystem::path>& path,
                                    const char* flag, const char* reason) {
  if (path) return *path;
  throw UsageError(fmt::format("--{} is missing: {}", flag, reason));
}

}  // namespace

TextDataset ReadOwnFiles(const OwnFiles& files, const SplitRequest& request, Log& log) {
  const auto& train_path =
      Needed(files.train, "train_file", "the columns and the labels are those of the train file");
  if (request.evaluation)
    Needed(files.validation, "validation_file", "there is nothing to evaluate");
  if (request.prediction) Needed(files.test, "test_file", "there is nothing to predict");

  const std::vector<std::string> names = ReadColumnNames(train_path);
  const TextColumns columns = ChooseTextColumns(names, train_path, log);
  RawSplit raw_train = ReadRawSplit(train_path, columns, true, log);
  const LabelCodec codec = LabelCodec::Learn(raw_train, log);

  TextDataset dataset;
  dataset.labels = codec.spec();
  const auto labelled = [&](const char* name, RawSplit raw, std::optional<int64_t> most) {
    TextSplit split = TakeTexts(name, &raw);
    codec.Encode(raw, &split);
    KeepFirstRows(most, codec.spec(), &split);
    return split;
  };
  if (request.train) dataset.train = labelled("train", std::move(raw_train), request.max_train);
  if (request.evaluation) {
    ReadColumnNames(*files.validation);
    RawSplit raw = ReadRawSplit(*files.validation, columns, true, log);
    dataset.evaluation.push_back(labelled("validation", std::move(raw), request.max_evaluation));
  }
  if (request.prediction) {
    // The reference drops a label column of the test file; here it need not be there.
    ReadColumnNames(*files.test);
    RawSplit raw = ReadRawSplit(*files.test, columns, false, log);
    TextSplit split = TakeTexts("test", &raw);
    SetNoLabels(codec.spec(), &split);
    KeepFirstRows(request.max_prediction, codec.spec(), &split);
    dataset.prediction.push_back(std::move(split));
  }
  return dataset;
}

}  // namespace hagane::data
