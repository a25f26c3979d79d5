// Everything before the first update: see glue_run_steps.cc for the rest.
#include "cli/glue_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "cli/glue_sources.h"
#include "cli/hints.h"
#include "cli/model_config.h"
#include "cli/output_folder.h"
#include "data/packing.h"
#include "data/tokenize.h"
#include "io/atomic_write.h"

namespace hagane::cli {

namespace {

constexpr double kExpectedShareOfPeak = 0.6;
constexpr int64_t kDryRunRows = 1000;

int64_t Rows(const std::vector<data::Features>& splits) {
  return std::accumulate(splits.begin(), splits.end(), int64_t{0},
                         [](int64_t sum, const auto& split) { return sum + split.rows(); });
}

void KeepFirst(int64_t rows, data::TextSplit* split) {
  if (split->rows() <= rows) return;
  const auto n = static_cast<size_t>(rows);
  split->text_a.resize(n);
  if (!split->text_b.empty()) split->text_b.resize(n);
  const size_t outputs =
      split->float_labels.size() / std::max<size_t>(1, split->class_labels.size());
  if (!split->class_labels.empty()) split->class_labels.resize(n);
  if (!split->float_labels.empty()) {
    split->float_labels.resize(
        std::min(split->float_labels.size(), n * std::max<size_t>(1, outputs)));
  }
}

}  // namespace

GlueRun::GlueRun(const GlueArguments& arguments, const RunContext& ctx, double peak_gflops,
                 Console* console)
    : arguments_(arguments),
      ctx_(ctx),
      peak_gflops_(peak_gflops),
      console_(console),
      options_(arguments.train) {}

GlueRun::~GlueRun() = default;

int GlueRun::Run() {
  OpenSources();
  ReadTexts();
  MatchLabels();
  if (arguments_.presentation.dry_run) return DryRun();
  options_.resume_from = PrepareOutputFolder(arguments_, *console_);
  io::WriteFileAtomically(arguments_.output.path / kArgumentsFile, arguments_.all_arguments);
  Tokenise();
  LoadWeights();
  SayPlan();

  signals_ = std::make_unique<StopSignals>();
  if (arguments_.do_train && !Train()) {
    console_->Info(
        fmt::format("interrupted; the state is saved in {}. Run the same command again to "
                    "go on.",
                    arguments_.output.path.string()));
    return kExitInterruptedSaved;
  }
  if (arguments_.do_eval && !Evaluate()) return ExitInterrupted();
  if (arguments_.do_predict && !Predict()) return ExitInterrupted();
  Finish();
  return 0;
}

void GlueRun::OpenSources() {
  const ModelSource& source = arguments_.model;
  model_folder_ = ResolveModelFolder(source, source.name_or_path);
  const auto folder_of = [&](const std::string& name) {
    return name.empty() ? model_folder_ : ResolveModelFolder(source, name);
  };
  WithHint("correct the file, or download the model again", [&] {
    config_ =
        std::make_unique<io::ModelConfig>(io::ModelConfig::Read(folder_of(source.config_name)));
    encoder_ = nn::ParseEncoderConfig(config_->raw(), config_->origin());
    tokenizer_folder_ = folder_of(source.tokenizer_name);
    tokenizer_ =
        text::LoadTokenizer(tokenizer_folder_, config_->GetString("model_type", ""), *console_);
  });
  max_length_ = ClampMaxLength(arguments_.data.max_seq_length, *tokenizer_, encoder_, *console_);
}

void GlueRun::ReadTexts() {
  texts_ = WithHint(
      "check the path and the file: CSV and TSV need a header row, a label column and at "
      "least one row; JSON one object a line, or one array",
      [&] { return ReadDataset(arguments_.data, *console_); });
}

void GlueRun::MatchLabels() {
  CheckProblemType(config_->raw(), config_->origin(), texts_.labels.problem);
  if (texts_.labels.problem == ProblemType::kRegression) return;
  const std::vector<std::string> model_names = ModelLabelNames(config_->raw());
  if (model_names.empty() || model_names == texts_.labels.names) return;
  if (data::RemapToModelLabels(model_names, &texts_)) return;
  console_->Warning(
      fmt::format("the labels of the model ({}) are not those of the data ({}): the "
                  "data's are used",
                  fmt::join(model_names, ", "), fmt::join(texts_.labels.names, ", ")));
}

data::Features GlueRun::TokeniseSplit(const data::TextSplit& split) {
  data::TokenizeOptions options;
  options.max_length = max_length_;
  options.overwrite_cache = arguments_.data.overwrite_cache;
  options.cache_folder = FeatureCacheFolder();
  if (arguments_.presentation.progress_bar) {
    options.progress = [&](int64_t done, int64_t rows) {
      console_->ShowStatus(
          DrawBar(static_cast<double>(done) / static_cast<double>(rows),
                  fmt::format("tokenising {}: {} of {} rows", split.name, done, rows),
                  console_->streams().width));
    };
  }
  data::Features features = data::TokenizeSplit(ctx_, split, texts_.labels, *tokenizer_, options);
  console_->ShowStatus("");
  CheckIds(features, encoder_, config_->origin());
  const double rows = static_cast<double>(std::max<int64_t>(1, features.rows()));
  Say(fmt::format("data: {}: {} rows, {:.1f} tokens on average, {:.1f} % cut to {}", split.name,
                  WithCommas(features.rows()), static_cast<double>(features.tokens()) / rows,
                  100 * static_cast<double>(features.truncated_rows) / rows, max_length_));
  return features;
}

void GlueRun::Tokenise() {
  const data::LabelSpec& labels = texts_.labels;
  Say(labels.names.empty()
          ? fmt::format("labels: {}, {} output(s)", ProblemTypeName(labels.problem), labels.outputs)
          : fmt::format("labels: {}", fmt::join(labels.names, ", ")));
  if (texts_.train) train_ = TokeniseSplit(*texts_.train);
  for (const data::TextSplit& split : texts_.evaluation)
    evaluation_.push_back(TokeniseSplit(split));
  for (const data::TextSplit& split : texts_.prediction)
    prediction_.push_back(TokeniseSplit(split));
}

nn::ModelOptions GlueRun::ModelOptionsOf(bool bf16) const {
  nn::ModelOptions options;
  options.problem = texts_.labels.problem;
  options.outputs = texts_.labels.outputs;
  options.bf16 = bf16;
  options.label_smoothing =
      options.problem == ProblemType::kSingleLabel ? arguments_.label_smoothing : 0.0f;
  options.seed = options_.seed;
  options.ignore_mismatched_sizes = arguments_.model.ignore_mismatched_sizes;
  options.init_from_scratch = arguments_.model.init_from_scratch;
  return options;
}

void GlueRun::LoadWeights() {
  // An evaluation alone may as well be in bf16 from the start.
  const bool bf16 = arguments_.bf16 || (arguments_.bf16_full_eval && !arguments_.do_train);
  WithHint("the file may be incomplete: download the model again", [&] {
    model_ = nn::LoadModel(ctx_, model_folder_, config_->raw(), config_->origin(),
                           ModelOptionsOf(bf16), &load_report_);
  });
  const std::string architecture = nn::ArchitectureName(config_->raw(), config_->origin());
  Say(fmt::format("model: {} ({}), {} parameters", arguments_.model.name_or_path, architecture,
                  WithCommas(model_->parameters().count())));
  SayWhatWasLoaded(load_report_, architecture, arguments_.model.name_or_path, *console_);
}

double GlueRun::ForwardFlopsPerRow(const data::Features& features) const {
  constexpr int64_t kSample = 256;
  const int64_t rows = std::min(features.rows(), kSample);
  if (rows == 0) return 0;
  std::vector<int64_t> sample(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) sample[static_cast<size_t>(i)] = i * features.rows() / rows;
  PackedBatch batch;
  data::PackRows(features, sample, 0, {}, &batch);
  return model_->ForwardFlops(batch) / static_cast<double>(rows);
}

double GlueRun::EstimatedSeconds() const {
  double flops = 0;
  if (arguments_.do_train) {
    const int64_t batch = options_.train_batch_size * options_.accumulation;
    const double rows = options_.max_steps > 0
                            ? static_cast<double>(options_.max_steps * batch)
                            : static_cast<double>(train_.rows()) * options_.num_train_epochs;
    flops += 3 * rows * ForwardFlopsPerRow(train_);
  }
  for (const auto& splits : {&evaluation_, &prediction_}) {
    for (const data::Features& split : *splits) {
      flops += static_cast<double>(split.rows()) * ForwardFlopsPerRow(split);
    }
  }
  return flops / (peak_gflops_ * 1e9 * kExpectedShareOfPeak);
}

void GlueRun::SayPlan() {
  std::string plan = "plan:";
  if (arguments_.do_train) {
    trainer_ = MakeTrainer(model_.get(), &train_);
    const train::TrainPlan numbers = trainer_->Plan();
    plan += fmt::format(" {} updates of {} rows,", WithCommas(numbers.max_steps),
                        numbers.total_batch_size);
  }
  if (!evaluation_.empty())
    plan += fmt::format(" {} rows to evaluate,", WithCommas(Rows(evaluation_)));
  if (!prediction_.empty())
    plan += fmt::format(" {} rows to predict,", WithCommas(Rows(prediction_)));
  Say(fmt::format("{} about {} at {:.0f} % of peak", plan, FormatDuration(EstimatedSeconds()),
                  100 * kExpectedShareOfPeak));
}

int GlueRun::DryRun() {
  // A sample stands for the whole; its rows are counted before.
  const auto whole = static_cast<double>(texts_.train ? texts_.train->rows() : 0);
  for (auto* splits : {&texts_.evaluation, &texts_.prediction}) {
    for (data::TextSplit& split : *splits) KeepFirst(kDryRunRows, &split);
  }
  if (texts_.train) KeepFirst(kDryRunRows, &*texts_.train);
  Tokenise();
  LoadWeights();

  const auto parameters = static_cast<double>(model_->parameters().count());
  const bool training = arguments_.do_train;
  const int64_t batch = training ? options_.train_batch_size : options_.eval_batch_size;
  int64_t tokens = 0;
  if (training) tokens = data::LargestBatchTokens(train_, batch);
  for (const auto& splits : {&evaluation_, &prediction_}) {
    for (const auto& split : *splits) {
      tokens = std::max(tokens, data::LargestBatchTokens(split, options_.eval_batch_size));
    }
  }
  // Weights, gradients and both moments, and the bf16 copy.
  const double weights = parameters * ((training ? 16 : 8) + (arguments_.bf16 ? 2 : 0));
  const auto activations = static_cast<double>(model_->ActivationBytes(tokens, batch, training));
  double seconds = EstimatedSeconds();
  if (training && train_.rows() > 0 && options_.max_steps <= 0) {
    seconds *= std::max(1.0, whole / static_cast<double>(train_.rows()));
  }
  Say(fmt::format(
      "dry run: memory about {} (weights and optimizer {}, activations {}), time about {}",
      FormatBytes(weights + activations), FormatBytes(weights), FormatBytes(activations),
      FormatDuration(seconds)));
  if (arguments_.presentation.json) {
    nlohmann::ordered_json json;
    json["dry_run"] = true;
    json["parameters"] = model_->parameters().count();
    json["memory_bytes"] = weights + activations;
    json["estimated_seconds"] = seconds;
    console_->Json(json.dump(2));
  }
  return 0;
}

}  // namespace hagane::cli
