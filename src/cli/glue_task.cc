#include "cli/glue_task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "cli/console.h"
#include "cli/flag_values.h"
#include "cli/model_config.h"
#include "cli/predictions.h"
#include "data/nearest.h"
#include "data/tokenize.h"
#include "io/atomic_write.h"
#include "io/hub_cache.h"

namespace hagane::cli {

namespace {

void CheckTaskName(const std::string& task) {
  if (data::IsGlueTask(task)) return;
  const std::string nearest = data::Nearest(task, data::GlueTaskNames());
  throw UsageError(
      fmt::format("--task_name '{}' is none of {}", task, fmt::join(data::GlueTaskNames(), ", ")),
      nearest.empty() ? "for own data give --train_file and --validation_file instead"
                      : fmt::format("did you mean --task_name {}?", nearest));
}

void CheckFiles(const RunArguments& run) {
  const data::OwnFiles& files = run.data.files;
  // The labels come from the training file, so an evaluation needs it too.
  for (const auto& [name, file] :
       {std::pair("train_file", &files.train), std::pair("validation_file", &files.validation)}) {
    if (!file->has_value()) {
      throw UsageError(fmt::format("--{} is missing", name),
                       "give --train_file and --validation_file (the training file names the "
                       "labels), or --task_name with --data_dir");
    }
  }
  if (run.do_predict && !files.test) {
    throw UsageError("--test_file is missing", "--do_predict needs the file to predict");
  }
}

[[noreturn]] void ThrowNoGlueData(const std::string& task) {
  const std::string hint = fmt::format(
      "give --data_dir: the folder with train.tsv and dev.tsv of {}, or its parent", task);
  for (const char* id : {"nyu-mll/glue", "glue"}) {
    const auto found = io::FindInHubCache({io::HubKind::kDataset, id, "main", std::nullopt},
                                          io::ProcessEnvironment());
    if (found) {
      throw Error(
          fmt::format("{} holds GLUE as parquet files, which cannot be read yet", found->string()),
          hint);
    }
  }
  throw Error(
      fmt::format("--task_name {}: there is no GLUE data in the local cache, and nothing is "
                  "downloaded yet",
                  task),
      hint);
}

data::TextDataset ReadDataset(const GlueOptions& options, const DataSource& source, Log& log) {
  if (options.task_name.empty()) return data::ReadOwnFiles(source.files, source.splits, log);
  if (!options.data_dir) ThrowNoGlueData(options.task_name);
  return data::ReadGlue(options.task_name, *options.data_dir, source.splits, log);
}

// Where model and data name the same classes, those of the data are renumbered.
void MatchLabels(const io::ModelConfig& config, data::TextDataset* texts, Log& log) {
  CheckProblemType(config.raw(), config.origin(), texts->labels.problem);
  if (texts->labels.problem == ProblemType::kRegression) return;
  const std::vector<std::string> model_names = ModelLabelNames(config.raw());
  if (model_names.empty() || model_names == texts->labels.names) return;
  if (data::RemapToModelLabels(model_names, texts)) return;
  log.Warning(
      fmt::format("the labels of the model ({}) are not those of the data ({}): the "
                  "data's are used",
                  fmt::join(model_names, ", "), fmt::join(texts->labels.names, ", ")));
}

// Returns the share that is left.
double KeepFirst(int64_t rows, data::TextSplit* split) {
  if (split->rows() <= rows) return 1;
  const double share = static_cast<double>(rows) / static_cast<double>(split->rows());
  const auto n = static_cast<size_t>(rows);
  const size_t outputs = split->float_labels.size() / split->text_a.size();
  split->text_a.resize(n);
  if (!split->text_b.empty()) split->text_b.resize(n);
  if (!split->class_labels.empty()) split->class_labels.resize(n);
  if (!split->float_labels.empty()) split->float_labels.resize(n * outputs);
  return share;
}

}  // namespace

GlueOptions MakeGlueOptions(const ParsedFlags& flags, const RunArguments& run) {
  GlueOptions options;
  options.task_name = flags.String("task_name");
  for (char& c : options.task_name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  options.data_dir = OptionalPath(flags, "data_dir");
  if (!options.task_name.empty()) {
    CheckTaskName(options.task_name);
  } else {
    if (options.data_dir) {
      throw UsageError("--data_dir needs --task_name",
                       "add the GLUE task, for example --task_name mrpc");
    }
    CheckFiles(run);
  }
  options.label_smoothing = static_cast<float>(FloatBelowOne(flags, "label_smoothing_factor"));
  options.ignore_mismatched_sizes = flags.Bool("ignore_mismatched_sizes");
  return options;
}

void GlueTask::ReadData(const io::ModelConfig& config, std::optional<int64_t> sample, Log& log) {
  data::TextDataset texts = WithHint(
      "check the path and the file: CSV and TSV need a header row, a label column and at "
      "least one row; JSON one object a line, or one array",
      [&] { return ReadDataset(options_, source_, log); });
  MatchLabels(config, &texts, log);
  labels_ = texts.labels;
  log.Info(labels_.names.empty() ? fmt::format("labels: {}, {} output(s)",
                                               ProblemTypeName(labels_.problem), labels_.outputs)
                                 : fmt::format("labels: {}", fmt::join(labels_.names, ", ")));
  const auto take = [&](data::TextSplit& split) {
    const double share = sample ? KeepFirst(*sample, &split) : 1;
    return Split{std::move(split), share, {}};
  };
  if (texts.train) train_rows_ = take(*texts.train);
  for (data::TextSplit& split : texts.evaluation) evaluation_rows_.push_back(take(split));
  for (data::TextSplit& split : texts.prediction) prediction_rows_.push_back(take(split));
}

std::string GlueTask::data_name() const {
  return options_.task_name.empty() ? source_.files.train->filename().string()
                                    : "GLUE " + options_.task_name;
}

TaskSplit GlueTask::TokeniseSplit(const TokeniseJob& job, Split* split) const {
  const std::string& name = split->texts.name;
  data::TokenizeOptions options;
  options.max_length = job.max_length;
  options.overwrite_cache = job.overwrite_cache;
  options.cache_folder = job.cache_folder;
  if (job.progress) {
    options.progress = [&](int64_t done, int64_t rows) {
      job.progress("tokenising " + name, done, rows);
    };
  }
  split->features = data::TokenizeSplit(job.ctx, split->texts, labels_, job.tokenizer, options);
  const data::Features& features = split->features;
  const double rows = static_cast<double>(std::max<int64_t>(1, features.rows()));
  job.log.Info(
      fmt::format("data: {}: {} rows, {:.1f} tokens on average, {:.1f} % cut to {}", name,
                  WithCommas(features.rows()), static_cast<double>(features.tokens()) / rows,
                  100 * static_cast<double>(features.truncated_rows) / rows, job.max_length));
  return {&features, split->share, ""};
}

void GlueTask::Tokenise(const TokeniseJob& job) {
  if (train_rows_) train_ = TokeniseSplit(job, &*train_rows_);
  for (Split& split : evaluation_rows_) evaluation_.push_back(TokeniseSplit(job, &split));
  for (Split& split : prediction_rows_) prediction_.push_back(TokeniseSplit(job, &split));
  // mnli's mismatched set.
  if (evaluation_.size() > 1) evaluation_[1].suffix = "_mm";
}

nn::ModelOptions GlueTask::model_options() const {
  nn::ModelOptions options;
  options.problem = labels_.problem;
  options.outputs = labels_.outputs;
  if (labels_.problem == ProblemType::kSingleLabel) {
    options.label_smoothing = options_.label_smoothing;
  }
  options.ignore_mismatched_sizes = options_.ignore_mismatched_sizes;
  return options;
}

void GlueTask::AddToConfig(nlohmann::ordered_json* config) const {
  AddLabels(labels_, options_.task_name, config);
  // The reference's model is not given the labels under label smoothing and so does not learn it.
  if (options_.label_smoothing == 0) AddProblemType(labels_.problem, config);
}

train::EvaluationMetrics GlueTask::metrics(const RunContext&) {
  return train::LabelMetrics(labels_.metrics);
}

std::vector<std::filesystem::path> GlueTask::WritePrediction(
    size_t i, const std::filesystem::path& folder, const train::EvaluationResult& result) {
  const auto file = folder / fmt::format("predict_results_{}{}.txt",
                                         options_.task_name.empty() ? "None" : options_.task_name,
                                         i > 0 ? "-mm" : "");
  io::WriteFileAtomically(file, PredictionsText(labels_, result.logits));
  return {file};
}

}  // namespace hagane::cli
