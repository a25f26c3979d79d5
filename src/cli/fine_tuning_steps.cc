// Training, evaluation and prediction of a run, and what they write.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/fine_tuning_run.h"
#include "cli/model_config.h"
#include "data/interrupted.h"
#include "io/checkpoint.h"

namespace hagane::cli {

namespace {

NamedMetrics Typed(const train::Metrics& metrics) {
  NamedMetrics typed;
  for (const auto& [name, value] : metrics) typed.emplace_back(name, TypedMetric(name, value));
  return typed;
}

}  // namespace

void FineTuningRun::SaveModelFiles(const std::filesystem::path& folder) const {
  folder_->Confirm();
  nlohmann::ordered_json config =
      SavedConfig(config_->raw(), arguments_.model.name_or_path, ArchitectureName());
  task_->AddToConfig(&config);
  io::WriteModelConfig(folder, config);
  const auto copied = io::CopyTokenizerFiles(tokenizer_folder_, folder);
  // A checkpoint is written under a temporary name; people are told the one it will have.
  const std::filesystem::path& output = arguments_.output.path;
  const std::filesystem::path shown = folder == output ? folder : output / folder.filename();
  const auto say_saved = [&](const char* what, const std::string& name) {
    Say(fmt::format("{} saved in {}", what, (shown / name).string()));
  };
  say_saved("Configuration", "config.json");
  say_saved("Model weights", "model.safetensors");
  for (const std::string& name : copied) {
    if (name == "tokenizer_config.json") say_saved("tokenizer config file", name);
    if (name == "special_tokens_map.json") say_saved("Special tokens file", name);
  }
}

std::unique_ptr<train::Trainer> FineTuningRun::MakeTrainer(nn::Model* model,
                                                           const data::Features* train) {
  const data::Features* const evaluation =
      task_->evaluation().empty() ? nullptr : task_->evaluation().front().features;
  if (reporter_ == nullptr) {
    RunReporter::Options options;
    options.evaluation = options_.evaluation;
    options.evaluation_rows = evaluation == nullptr ? 0 : evaluation->rows();
    options.progress = arguments_.presentation.progress_bar;
    options.stop_requested = ctx_.stop_requested;
    reporter_ = std::make_unique<RunReporter>(console_, std::move(options));
  }
  return std::make_unique<train::Trainer>(
      ctx_, group_, options_, model, train, evaluation, task_->metrics(ctx_),
      [this](const std::filesystem::path& folder) { SaveModelFiles(folder); }, reporter_.get());
}

train::Trainer* FineTuningRun::Evaluator() {
  const bool wants_bf16 = arguments_.bf16_full_eval && !model_->options().bf16;
  if (!wants_bf16) {
    if (trainer_ == nullptr) trainer_ = MakeTrainer(model_.get(), nullptr);
    return trainer_.get();
  }
  if (bf16_trainer_ == nullptr) {
    nn::ModelOptions options = ModelOptionsOf(true);
    options.init_from_scratch = false;
    nn::LoadReport report;
    bf16_model_ = nn::LoadModel(ctx_, arguments_.output.path, config_->raw(), config_->origin(),
                                options, &report);
    bf16_trainer_ = MakeTrainer(bf16_model_.get(), nullptr);
  }
  return bf16_trainer_.get();
}

void FineTuningRun::Train() {
  trained_ = trainer_->Train();
  if (trained_.interrupted) throw data::Interrupted();
  if (trained_.skipped_updates > 0) {
    console_->Warning(
        fmt::format("{} of {} updates were left out: their loss or gradient was not "
                    "finite",
                    trained_.skipped_updates, trained_.steps));
  }
  train_metrics_ = {
      {"train_runtime", PythonRound(trained_.runtime_seconds, 4)},
      {"train_samples_per_second", PythonRound(trained_.samples_per_second, 3)},
      {"train_steps_per_second", PythonRound(trained_.steps_per_second, 3)},
      {"total_flos", trained_.total_flos},
      {"train_loss", trained_.train_loss},
  };
  train::LogEntry entry{trained_.steps, trained_.epoch, {}};
  for (const auto& [key, value] : train_metrics_)
    entry.values.emplace_back(key, std::get<double>(value));
  trainer_->AddLog(entry);
  // The reference's console leaves total_flos out of this line.
  std::erase_if(entry.values, [](const auto& item) { return item.first == "total_flos"; });
  console_->Result(LogLine(entry));

  train_metrics_.emplace_back("epoch", trained_.epoch);
  train_metrics_.emplace_back("train_samples", task_->train()->features->rows());
  if (group_->leads()) {
    trainer_->SaveModel();
    console_->Result(MetricsBlock("train", train_metrics_));
    WriteResults(arguments_.output.path, "train", train_metrics_);
    trainer_->SaveState();
  }
  group_->Barrier("rank 0 to save the model", comm::kWhileAlive);
}

void FineTuningRun::Evaluate() {
  const std::filesystem::path& folder = arguments_.output.path;
  train::Trainer* const trainer = Evaluator();
  for (size_t i = 0; i < task_->evaluation().size(); ++i) {
    const TaskSplit& split = task_->evaluation()[i];
    const train::EvaluationResult result = trainer->Evaluate(*split.features, "eval");
    if (result.interrupted) throw data::Interrupted();
    if (!group_->leads()) continue;
    AddFiles(task_->WriteEvaluation(i, folder, result));
    train::LogEntry entry{trained_.steps, trained_.epoch, result.metrics};
    NamedMetrics metrics = Typed(result.metrics);
    if (arguments_.do_train) metrics.emplace_back("epoch", trained_.epoch);
    metrics.emplace_back("eval_samples", split.features->rows());
    for (auto& [key, value] : metrics) key += split.suffix;
    // Without a bar the reference's printer shows this dict too.
    if (!arguments_.presentation.progress_bar) console_->Result(LogLine(entry));
    console_->Result(MetricsBlock("eval", metrics));
    eval_metrics_.insert(eval_metrics_.end(), metrics.begin(), metrics.end());
    WriteResults(folder, "eval", eval_metrics_);
  }
}

void FineTuningRun::Predict() {
  const std::filesystem::path& folder = arguments_.output.path;
  train::Trainer* const trainer = Evaluator();
  for (size_t i = 0; i < task_->prediction().size(); ++i) {
    const data::Features& features = *task_->prediction()[i].features;
    const train::EvaluationResult result = trainer->Predict(features);
    if (result.interrupted) throw data::Interrupted();
    if (!group_->leads()) continue;
    AddFiles(task_->WritePrediction(i, folder, result));
    if (!task_->reports_predictions()) continue;
    predict_metrics_ = Typed(result.metrics);
    predict_metrics_.emplace_back("predict_samples", features.rows());
    console_->Result(MetricsBlock("predict", predict_metrics_));
    WriteResults(folder, "predict", predict_metrics_);
  }
}

void FineTuningRun::AddFiles(const std::vector<std::filesystem::path>& written) {
  prediction_files_.insert(prediction_files_.end(), written.begin(), written.end());
}

}  // namespace hagane::cli
