#include "cli/qa_task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/console.h"
#include "cli/flag_values.h"
#include "cli/qa_files.h"
#include "data/squad_metrics.h"
#include "io/atomic_write.h"

namespace hagane::cli {

namespace {

// What an evaluation may give, in the reference's order.
std::vector<std::string> MetricNames(bool version_2) {
  if (!version_2) return {"exact_match", "f1"};
  return {"exact",
          "f1",
          "total",
          "HasAns_exact",
          "HasAns_f1",
          "HasAns_total",
          "NoAns_exact",
          "NoAns_f1",
          "NoAns_total",
          "best_exact",
          "best_exact_thresh",
          "best_f1",
          "best_f1_thresh"};
}

// Found here rather than when training begins: the windows of a large file take a while.
void CheckBestMetric(const train::TrainOptions& options, bool version_2) {
  std::string name = options.best.metric;
  if (options.evaluation.strategy == train::Interval::kNo || name.empty()) return;
  if (name.starts_with("eval_")) name = name.substr(5);
  const std::vector<std::string> names = MetricNames(version_2);
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw UsageError(
      fmt::format("an evaluation of run_qa gives no eval_{} to choose the best model by", name),
      fmt::format("add --metric_for_best_model f1; known are {}", fmt::join(names, ", ")));
}

void CheckFiles(const RunArguments& run) {
  const data::OwnFiles& files = run.data.files;
  struct Need {
    bool wanted;
    const std::optional<std::filesystem::path>& file;
    const char *name, *why;
  };
  for (const Need& need : {Need{run.do_train, files.train, "train_file", "--do_train"},
                           Need{run.do_eval, files.validation, "validation_file", "an evaluation"},
                           Need{run.do_predict, files.test, "test_file", "--do_predict"}}) {
    if (!need.wanted) continue;
    if (!need.file) {
      throw UsageError(fmt::format("--{} is missing", need.name),
                       fmt::format("{} needs a JSON file in SQuAD's form", need.why));
    }
    const std::string extension = need.file->extension().string();
    if (extension == ".csv" || extension == ".tsv" || extension == ".parquet") {
      throw UsageError(fmt::format("--{} {} is no JSON file", need.name, need.file->string()),
                       "questions, contexts and answers are read from JSON alone");
    }
  }
}

bool CanBeScored(const data::QaDataset& questions, bool version_2) {
  return std::any_of(
      questions.examples.begin(), questions.examples.end(),
      [&](const data::QaExample& example) { return data::CanBeScored(example, version_2); });
}

}  // namespace

QaOptions MakeQaOptions(const ParsedFlags& flags, const RunArguments& run) {
  QaOptions options;
  options.dataset_name = flags.String("dataset_name");
  if (options.dataset_name.empty()) CheckFiles(run);
  options.doc_stride =
      static_cast<int>(std::min<int64_t>(IntFrom(flags, "doc_stride", 0), INT32_MAX));
  options.answers.version_2 = flags.Bool("version_2_with_negative");
  options.answers.n_best_size = static_cast<int>(CountFrom(flags, "n_best_size"));
  options.answers.max_answer_length = static_cast<int>(CountFrom(flags, "max_answer_length"));
  options.answers.null_score_diff_threshold =
      static_cast<float>(flags.Float("null_score_diff_threshold"));
  CheckBestMetric(run.train, options.answers.version_2);
  return options;
}

QaTask::Split QaTask::ReadSplit(const std::filesystem::path& file,
                                const data::QaReadOptions& options, std::optional<int64_t> sample,
                                Log& log) const {
  Split split;
  split.max = options.max_examples;
  split.questions = data::ReadSquad(file, options, log);
  auto& examples = split.questions.examples;
  if (split.questions.version_2 && !options_.answers.version_2 &&
      options.use != data::QaUse::kPredict) {
    log.Warning(
        fmt::format("{} has questions without an answer; without --version_2_with_negative the "
                    "model must answer every question",
                    file.string()));
  }
  if (options.use == data::QaUse::kTrain &&
      std::all_of(examples.begin(), examples.end(), [](const data::QaExample& example) {
        return example.target == data::QaTarget::kUnusable;
      })) {
    throw Error(fmt::format("{} has no question with an answer to train on", file.string()),
                "each needs \"answers\": the text, and where it starts in the context");
  }
  if (sample && *sample < static_cast<int64_t>(examples.size())) {
    split.share = static_cast<double>(*sample) / static_cast<double>(examples.size());
    examples.resize(static_cast<size_t>(*sample));
  }
  return split;
}

void QaTask::ReadData(const io::ModelConfig&, std::optional<int64_t> sample, Log& log) {
  using data::QaUse;
  if (!options_.dataset_name.empty()) {
    source_.files = FindQaFiles(options_.dataset_name, cache_dir_);
  }
  const data::SplitRequest& wanted = source_.splits;
  const auto read = [&](const char* name, QaUse use, std::optional<std::filesystem::path> file,
                        std::optional<int64_t> max) {
    if (!file) {
      throw Error(fmt::format("--dataset_name {} has no {} file", options_.dataset_name, name),
                  "give the files with --train_file, --validation_file and --test_file");
    }
    return WithHint("check the path: a JSON file in SQuAD's form is needed", [&] {
      return ReadSplit(*file, {name, use, max}, sample, log);
    });
  };
  if (wanted.train) {
    train_questions_ = read("train", QaUse::kTrain, source_.files.train, wanted.max_train);
  }
  if (wanted.evaluation) {
    evaluation_questions_ =
        read("validation", QaUse::kEvaluate, source_.files.validation, wanted.max_evaluation);
    if (!CanBeScored(evaluation_questions_->questions, options_.answers.version_2)) {
      throw Error(
          fmt::format("{} has no answers to evaluate with", source_.files.validation->string()),
          "to answer its questions, give it as --test_file with --do_predict; if none of them has "
          "an answer, add --version_2_with_negative");
    }
  }
  if (wanted.prediction) {
    prediction_questions_ =
        read("test", QaUse::kPredict, source_.files.test, wanted.max_prediction);
  }
}

std::string QaTask::data_name() const {
  return options_.dataset_name.empty() ? source_.files.train->filename().string()
                                       : options_.dataset_name;
}

TaskSplit QaTask::MakeWindows(const TokeniseJob& job, bool labels, Split* split) const {
  data::QaWindowOptions options;
  options.max_length = job.max_length;
  options.doc_stride = options_.doc_stride;
  options.labels = labels;
  options.max_windows = split->max;
  options.overwrite_cache = job.overwrite_cache;
  options.cache_folder = job.cache_folder;
  const std::string& name = split->questions.name;
  if (job.progress) {
    options.progress = [&](int64_t done, int64_t questions) {
      job.progress("making windows of " + name, done, questions);
    };
  }
  split->windows = data::MakeQaWindows(job.ctx, split->questions, job.tokenizer, options);
  const data::Features& features = split->windows.features;
  job.log.Info(fmt::format("data: {}: {} questions, {} windows, {:.1f} tokens on average", name,
                           WithCommas(static_cast<int64_t>(split->questions.examples.size())),
                           WithCommas(features.rows()),
                           static_cast<double>(features.tokens()) /
                               static_cast<double>(std::max<int64_t>(1, features.rows()))));
  return {&features, split->share, ""};
}

void QaTask::Tokenise(const TokeniseJob& job) {
  const int room = job.max_length - job.tokenizer.special_tokens(true);
  if (options_.doc_stride >= room) {
    throw UsageError(
        fmt::format("--doc_stride is {}, it must be below the {} tokens that a window of "
                    "--max_seq_length {} has beside the special ones",
                    options_.doc_stride, std::max(0, room), job.max_length),
        "lower --doc_stride (the tokens that neighbouring windows share) or raise "
        "--max_seq_length");
  }
  if (train_questions_) train_ = MakeWindows(job, true, &*train_questions_);
  if (evaluation_questions_) {
    evaluation_.push_back(MakeWindows(job, false, &*evaluation_questions_));
  }
  if (prediction_questions_) {
    prediction_.push_back(MakeWindows(job, false, &*prediction_questions_));
  }
}

nn::ModelOptions QaTask::model_options() const {
  nn::ModelOptions options;
  options.problem = ProblemType::kSpan;
  options.outputs = 2;
  return options;
}

void QaTask::AddToConfig(nlohmann::ordered_json* config) const {
  // Start and end: labels of a classifier with another number would not fit the head.
  const auto names = config->find("id2label");
  if (names == config->end() || names->size() == 2) return;
  for (const char* key : {"id2label", "label2id", "num_labels", "_num_labels"}) config->erase(key);
}

train::Metrics QaTask::Judge(const RunContext& ctx, const data::Features& features,
                             std::span<const float> logits) {
  const bool evaluation =
      evaluation_questions_ && &features == &evaluation_questions_->windows.features;
  Split& split = evaluation ? *evaluation_questions_ : *prediction_questions_;
  split.answers =
      data::FindQaAnswers(ctx, split.questions, split.windows, logits, options_.answers);
  train::Metrics metrics;
  if (!CanBeScored(split.questions, options_.answers.version_2)) return metrics;
  for (const data::QaMetric& metric : data::SquadMetrics(split.questions, split.answers.texts,
                                                         options_.answers.version_2, *ctx.log)) {
    metrics.emplace_back(metric.name, metric.value);
  }
  return metrics;
}

train::EvaluationMetrics QaTask::metrics(const RunContext& ctx) {
  return {MetricNames(options_.answers.version_2),
          [this, &ctx](const data::Features& features, std::span<const float> logits) {
            return Judge(ctx, features, logits);
          }};
}

std::vector<std::filesystem::path> QaTask::WriteAnswers(const Split& split,
                                                        const std::string& prefix,
                                                        const std::filesystem::path& folder) const {
  std::vector<std::filesystem::path> files;
  const auto write = [&](const char* name, const std::string& text) {
    files.push_back(folder / (prefix + name));
    io::WriteFileAtomically(files.back(), text);
  };
  write("_predictions.json", data::PredictionsJson(split.questions, split.answers));
  write("_nbest_predictions.json", data::NBestJson(split.questions, split.answers));
  if (options_.answers.version_2) {
    write("_null_odds.json", data::NullOddsJson(split.questions, split.answers));
  }
  return files;
}

std::vector<std::filesystem::path> QaTask::WriteEvaluation(size_t,
                                                           const std::filesystem::path& folder,
                                                           const train::EvaluationResult&) {
  return WriteAnswers(*evaluation_questions_, "eval", folder);
}

std::vector<std::filesystem::path> QaTask::WritePrediction(size_t,
                                                           const std::filesystem::path& folder,
                                                           const train::EvaluationResult&) {
  return WriteAnswers(*prediction_questions_, "predict", folder);
}

}  // namespace hagane::cli
