// ReadGlue: the nine tasks in the files of the GLUE download.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "data/delimited.h"
#include "data/nearest.h"
#include "data/split_rows.h"
#include "data/text_dataset.h"

namespace hagane::data {
namespace {

constexpr int kLast = -1;
constexpr int kNone = -2;

// A column: its name in the header, and where it stands in files that come without a header (CoLA).
struct Column {
  const char* name;
  int position;
};

struct Task {
  const char* name;
  Column text_a, text_b, label;     // text_b.position kNone: single sentences
  std::vector<std::string> labels;  // in the order of their ids; empty: regression
  MetricSet metrics;
  // The official file has rows that lack a column; the reference leaves them out.
  bool skips_short_rows = false;
};

const std::vector<Task>& Tasks() {
  static const std::vector<Task> tasks = [] {
    const Column none{"", kNone};
    const Column s1{"sentence1", 1}, s2{"sentence2", 2}, label{"label", kLast};
    const std::vector<std::string> entailment = {"entailment", "not_entailment"};
    using M = MetricSet;
    return std::vector<Task>{
        {"cola",
         {"sentence", 3},
         none,
         {"is_acceptable", 1},
         {"unacceptable", "acceptable"},
         M::kMatthews},
        {"mnli",
         {"sentence1", 8},
         {"sentence2", 9},
         {"gold_label", kLast},
         {"entailment", "neutral", "contradiction"},
         M::kAccuracy},
        {"mrpc",
         {"#1 String", 3},
         {"#2 String", 4},
         {"Quality", 0},
         {"not_equivalent", "equivalent"},
         M::kAccuracyF1},
        {"qnli", {"question", 1}, {"sentence", 2}, label, entailment, M::kAccuracy},
        {"qqp",
         {"question1", 3},
         {"question2", 4},
         {"is_duplicate", kLast},
         {"not_duplicate", "duplicate"},
         M::kAccuracyF1,
         true},
        {"rte", s1, s2, label, entailment, M::kAccuracy},
        {"sst2", {"sentence", 0}, none, label, {"negative", "positive"}, M::kAccuracy},
        {"stsb", {"sentence1", 7}, {"sentence2", 8}, {"score", kLast}, {}, M::kPearsonSpearman},
        {"wnli", s1, s2, label, {"not_entailment", "entailment"}, M::kAccuracy},
    };
  }();
  return tasks;
}

const Task* FindTask(const std::string& name) {
  const auto found = std::find_if(Tasks().begin(), Tasks().end(),
                                  [&](const Task& task) { return name == task.name; });
  return found == Tasks().end() ? nullptr : &*found;
}

// "STS-B", "sst_2", "MRPC" -> "stsb", "sst2", "mrpc".
std::string Plain(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    if (c != '-' && c != '_' && c != ' ')
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

std::optional<int32_t> ClassOf(const Task& task, std::string_view label) {
  const auto word = std::find(task.labels.begin(), task.labels.end(), label);
  if (word != task.labels.end()) return static_cast<int32_t>(word - task.labels.begin());
  int32_t id = -1;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), id);
  const bool known = error == std::errc() && end == label.data() + label.size() && id >= 0 &&
                     id < static_cast<int32_t>(task.labels.size());
  return known ? std::optional(id) : std::nullopt;
}

std::optional<float> Score(std::string_view label) {
  float score = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), score);
  const bool whole = error == std::errc() && end == label.data() + label.size();
  return whole && std::isfinite(score) ? std::optional(score) : std::nullopt;
}

bool IsLabel(const Task& task, std::string_view label) {
  return task.labels.empty() ? Score(label).has_value() : ClassOf(task, label).has_value();
}

class GlueFile {
 public:
  GlueFile(const Task& task, const std::filesystem::path& path, bool with_labels)
      : task_(task), path_(path), with_labels_(with_labels), reader_(path, kTsv) {}

  TextSplit Read(const char* name, Log& log) {
    split_.name = name;
    split_.origin = path_;
    split_.has_labels = with_labels_;
    if (!reader_.Next()) throw Error(fmt::format("{} is empty", path_.string()));
    const bool header = FindColumns();
    columns_ = reader_.cells().size();
    if (!header) AppendRow();
    while (reader_.Next()) AppendRow();
    if (skipped_ > 0) {
      log.Warning(fmt::format("{}: {} {} left out for lack of a column, the first at {}",
                              path_.string(), skipped_, skipped_ == 1 ? "row is" : "rows are",
                              first_skipped_));
    }
    if (split_.rows() == 0) throw Error(fmt::format("{} has no usable row", path_.string()));
    return std::move(split_);
  }

 private:
  // By the names in the first row, or by position where that row is data already.
  bool FindColumns() {
    const auto& cells = reader_.cells();
    const auto named = [&](const Column& column, size_t* index) {
      const auto found = std::find(cells.begin(), cells.end(), column.name);
      *index = static_cast<size_t>(found - cells.begin());
      return found != cells.end();
    };
    const bool pair = task_.text_b.position != kNone;
    if (named(task_.text_a, &a_) && (!pair || named(task_.text_b, &b_)) &&
        (!with_labels_ || named(task_.label, &label_))) {
      return true;
    }
    a_ = static_cast<size_t>(task_.text_a.position);
    b_ = pair ? static_cast<size_t>(task_.text_b.position) : 0;
    label_ = task_.label.position == kLast ? cells.size() - 1
                                           : static_cast<size_t>(task_.label.position);
    const bool fits =
        std::max({a_, b_, label_}) < cells.size() && label_ != a_ && (!pair || label_ != b_);
    if (with_labels_ && fits && IsLabel(task_, cells[label_])) return false;

    std::vector<std::string> expected = {task_.text_a.name};
    if (pair) expected.emplace_back(task_.text_b.name);
    if (with_labels_) expected.emplace_back(task_.label.name);
    throw Error(
        fmt::format("{} does not look like a file of {}: expected columns named {}, the first row "
                    "is: {}",
                    path_.string(), task_.name, fmt::join(expected, ", "), Excerpt(reader_.raw())),
        "give the files of the GLUE download; other files go in with --train_file and "
        "--validation_file");
  }

  void AppendRow() {
    const auto& cells = reader_.cells();
    if (cells.size() != columns_) {
      if (cells.size() > columns_ || !task_.skips_short_rows) throw reader_.RaggedRow(columns_);
      if (skipped_++ == 0) first_skipped_ = reader_.Place();
      return;
    }
    split_.text_a.emplace_back(cells[a_]);
    if (task_.text_b.position != kNone) split_.text_b.emplace_back(cells[b_]);
    if (with_labels_) AppendLabel(cells[label_]);
  }

  void AppendLabel(std::string_view label) {
    if (task_.labels.empty()) {
      const auto score = Score(label);
      if (!score) throw WrongLabel(label, "a number");
      split_.float_labels.push_back(*score);
    } else {
      const auto id = ClassOf(task_, label);
      if (!id)
        throw WrongLabel(label, fmt::format("{} (or 0 to {})", fmt::join(task_.labels, ", "),
                                            task_.labels.size() - 1));
      split_.class_labels.push_back(*id);
    }
  }

  Error WrongLabel(std::string_view label, const std::string& expected) const {
    return Error(fmt::format("{}: label \"{}\" of {}, expected {}: {}", reader_.Place(),
                             Excerpt(label), task_.name, expected, Excerpt(reader_.raw())),
                 "correct or remove the row");
  }

  const Task& task_;
  const std::filesystem::path path_;
  const bool with_labels_;
  DelimitedReader reader_;
  TextSplit split_;
  size_t a_ = 0, b_ = 0, label_ = 0, columns_ = 0;
  int64_t skipped_ = 0;
  std::string first_skipped_;
};

// The folder that holds the task's files: `folder` itself or the one in it that has the task's
// name.
std::filesystem::path TaskFolder(const Task& task, const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(fmt::format("there is no folder {}", folder.string()),
                "--data_dir names the task's folder of the GLUE download, or its parent");
  }
  const auto holds_files = [&](const std::filesystem::path& candidate) {
    for (const char* name : {"train.tsv", "dev.tsv", "test.tsv", "dev_matched.tsv",
                             "dev_mismatched.tsv", "test_matched.tsv", "test_mismatched.tsv"}) {
      if (std::filesystem::exists(candidate / name, error)) return true;
    }
    return false;
  };
  if (holds_files(folder)) return folder;
  std::vector<std::filesystem::path> inside;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (Plain(entry.path().filename().string()) == task.name && entry.is_directory(error)) {
      inside.push_back(entry.path());
    }
  }
  std::sort(inside.begin(), inside.end());
  const auto found = std::find_if(inside.begin(), inside.end(), holds_files);
  if (found != inside.end()) return *found;
  throw Error(
      fmt::format("{} holds neither the files of {} nor a folder of that name", folder.string(),
                  task.name),
      fmt::format("--data_dir names the task's folder of the GLUE download (train.tsv, dev.tsv "
                  "...), or its parent"));
}

}  // namespace

bool IsGlueTask(const std::string& task_name) { return FindTask(task_name) != nullptr; }

const std::vector<std::string>& GlueTaskNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Task& task : Tasks()) list.emplace_back(task.name);
    return list;
  }();
  return names;
}

TextDataset ReadGlue(const std::string& task_name, const std::filesystem::path& folder,
                     const SplitRequest& request, Log& log) {
  const Task* task = FindTask(Plain(task_name));
  if (task == nullptr) {
    const std::string nearest = Nearest(task_name, GlueTaskNames());
    throw UsageError(fmt::format("there is no GLUE task \"{}\"; the tasks are {}",
                                 Excerpt(task_name), fmt::join(GlueTaskNames(), ", ")),
                     nearest.empty() ? "" : fmt::format("--task_name {}", nearest));
  }
  const std::filesystem::path files = TaskFolder(*task, folder);
  TextDataset dataset;
  dataset.task_name = task->name;
  dataset.labels.metrics = task->metrics;
  dataset.labels.names = task->labels;
  dataset.labels.problem =
      task->labels.empty() ? ProblemType::kRegression : ProblemType::kSingleLabel;
  dataset.labels.outputs = task->labels.empty() ? 1 : static_cast<int>(task->labels.size());

  const auto read = [&](const char* file, const char* name, bool with_labels,
                        std::optional<int64_t> most) {
    const std::filesystem::path path = files / file;
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      throw Error(fmt::format("{} has no {}, which holds the {} rows of {}", files.string(), file,
                              name, task->name),
                  with_labels ? "the GLUE download has it" : "it is needed for --do_predict only");
    }
    TextSplit split = GlueFile(*task, path, with_labels).Read(name, log);
    if (!with_labels) SetNoLabels(dataset.labels, &split);
    KeepFirstRows(most, dataset.labels, &split);
    return split;
  };
  const bool mnli = dataset.task_name == "mnli";
  if (request.train) dataset.train = read("train.tsv", "train", true, request.max_train);
  if (request.evaluation && !mnli) {
    dataset.evaluation.push_back(read("dev.tsv", "validation", true, request.max_evaluation));
  }
  if (request.evaluation && mnli) {
    dataset.evaluation.push_back(
        read("dev_matched.tsv", "validation_matched", true, request.max_evaluation));
    dataset.evaluation.push_back(
        read("dev_mismatched.tsv", "validation_mismatched", true, request.max_evaluation));
  }
  if (request.prediction && !mnli) {
    dataset.prediction.push_back(read("test.tsv", "test", false, request.max_prediction));
  }
  if (request.prediction && mnli) {
    dataset.prediction.push_back(
        read("test_matched.tsv", "test_matched", false, request.max_prediction));
    // As in the reference, --max_predict_samples cuts the first test set only.
    dataset.prediction.push_back(
        read("test_mismatched.tsv", "test_mismatched", false, std::nullopt));
  }
  return dataset;
}

}  // namespace hagane::data
