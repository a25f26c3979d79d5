// A user's own train file through to texts and labels: CSV, TSV, JSON or JSON lines, and GLUE's
// TSV. The first byte chooses.
#include "base/log.h"
#include "data/text_dataset.h"
#include "fuzz/input.h"

void hagane::fuzz::Read(std::string_view input) {
  static const Folder folder;
  NullLog log;
  const unsigned choice = TakeByte(input);
  data::TextDataset dataset;
  const unsigned kind = choice % 8;
  if (kind < 4) {
    static constexpr const char* kNames[] = {"train.csv", "train.tsv", "train.json", "train.jsonl"};
    const auto file = folder.Write(kNames[kind], input);
    dataset = data::ReadOwnFiles({file, {}, {}}, {.train = true}, log);
  } else {
    folder.Write("train.tsv", input);
    const auto& tasks = data::GlueTaskNames();
    dataset = data::ReadGlue(tasks[choice / 8 % tasks.size()], folder.path(), {.train = true}, log);
  }
  const auto rows = static_cast<size_t>(dataset.train->rows());
  const data::LabelSpec& labels = dataset.labels;
  Require(dataset.train->text_b.empty() || dataset.train->text_b.size() == rows);
  if (labels.problem == ProblemType::kSingleLabel) {
    Require(dataset.train->class_labels.size() == rows);
    for (const int32_t id : dataset.train->class_labels) Require(id >= -1 && id < labels.outputs);
  } else {
    Require(dataset.train->float_labels.size() == rows * static_cast<size_t>(labels.outputs));
  }
}
