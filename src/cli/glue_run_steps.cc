// Training, evaluation and prediction of a run, and what they write.
#include <fmt/format.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "cli/glue_run.h"
#include "cli/model_card.h"
#include "cli/model_config.h"
#include "cli/predictions.h"
#include "io/atomic_write.h"
#include "io/checkpoint.h"
#include "io/json.h"

namespace hagane::cli {

namespace {

nlohmann::ordered_json ToJson(const NamedMetrics& metrics) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [key, value] : metrics) {
    std::visit([&, &name = key](auto number) { json[name] = number; }, value);
  }
  return json;
}

}  // namespace

void GlueRun::SaveModelFiles(const std::filesystem::path& folder) const {
  SavedConfigOptions options;
  options.labels = texts_.labels;
  options.task_name = texts_.task_name;
  options.name_or_path = arguments_.model.name_or_path;
  options.architecture = nn::ArchitectureName(config_->raw(), config_->origin());
  // The reference's model is not given the labels under label smoothing and so does not learn it.
  options.set_problem_type = arguments_.label_smoothing == 0;
  io::WriteModelConfig(folder, SavedConfig(config_->raw(), options));
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

std::unique_ptr<train::Trainer> GlueRun::MakeTrainer(nn::Model* model,
                                                     const data::Features* train) {
  if (reporter_ == nullptr) {
    RunReporter::Options options;
    options.evaluation = options_.evaluation;
    options.evaluation_rows = evaluation_.empty() ? 0 : evaluation_.front().rows();
    options.progress = arguments_.presentation.progress_bar;
    options.stop_requested = [this] { return signals_ != nullptr && signals_->received() != 0; };
    reporter_ = std::make_unique<RunReporter>(console_, std::move(options));
  }
  return std::make_unique<train::Trainer>(
      ctx_, options_, model, train, evaluation_.empty() ? nullptr : &evaluation_.front(),
      train::LabelMetrics(texts_.labels.metrics),
      [this](const std::filesystem::path& folder) { SaveModelFiles(folder); }, reporter_.get());
}

train::Trainer* GlueRun::Evaluator() {
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

bool GlueRun::Train() {
  trained_ = trainer_->Train();
  if (trained_.interrupted) return false;
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
  train_metrics_.emplace_back("train_samples", train_.rows());
  trainer_->SaveModel();
  console_->Result(MetricsBlock("train", train_metrics_));
  WriteResults(arguments_.output.path, "train", train_metrics_);
  trainer_->SaveState();
  return true;
}

bool GlueRun::Evaluate() {
  train::Trainer* const trainer = Evaluator();
  for (size_t i = 0; i < evaluation_.size(); ++i) {
    const train::EvaluationResult result = trainer->Evaluate(evaluation_[i], "eval");
    if (result.interrupted) return false;
    train::LogEntry entry{trained_.steps, trained_.epoch, result.metrics};
    NamedMetrics metrics(result.metrics.begin(), result.metrics.end());
    if (arguments_.do_train) metrics.emplace_back("epoch", trained_.epoch);
    metrics.emplace_back("eval_samples", evaluation_[i].rows());
    // mnli's mismatched set.
    if (i > 0) {
      for (auto& [key, value] : metrics) key += "_mm";
    }
    // Without a bar the reference's printer shows this dict too.
    if (!arguments_.presentation.progress_bar) console_->Result(LogLine(entry));
    console_->Result(MetricsBlock("eval", metrics));
    eval_metrics_.insert(eval_metrics_.end(), metrics.begin(), metrics.end());
    WriteResults(arguments_.output.path, "eval", eval_metrics_);
  }
  return true;
}

bool GlueRun::Predict() {
  train::Trainer* const trainer = Evaluator();
  for (size_t i = 0; i < prediction_.size(); ++i) {
    const train::EvaluationResult result = trainer->Predict(prediction_[i]);
    if (result.interrupted) return false;
    const std::string task = texts_.task_name.empty() ? "None" : texts_.task_name;
    const auto file =
        arguments_.output.path / fmt::format("predict_results_{}{}.txt", task, i > 0 ? "-mm" : "");
    io::WriteFileAtomically(file, PredictionsText(texts_.labels, result.logits));
    prediction_files_.push_back(file);
  }
  return true;
}

int GlueRun::ExitInterrupted() const {
  const bool saved = arguments_.do_train && !io::ListCheckpoints(arguments_.output.path).empty();
  if (saved) return kExitInterruptedSaved;
  return 128 + signals_->received();
}

void GlueRun::Finish() {
  const std::filesystem::path& folder = arguments_.output.path;
  if (arguments_.do_train) {
    ModelCard card;
    card.base_model = arguments_.model.name_or_path;
    card.data = texts_.task_name.empty() ? arguments_.data.files.train->filename().string()
                                         : "GLUE " + texts_.task_name;
    card.bf16 = arguments_.bf16;
    card.evaluation = eval_metrics_;
    io::WriteFileAtomically(folder / "README.md",
                            ModelCardText(card, options_, folder.filename().string()));
  }
  const double gflops =
      trained_.step_seconds > 0 ? trained_.useful_flops / trained_.step_seconds / 1e9 : 0;
  if (arguments_.presentation.json) {
    nlohmann::ordered_json json;
    json["output_dir"] = folder.string();
    if (arguments_.do_train) json["train"] = ToJson(train_metrics_);
    if (arguments_.do_eval) json["eval"] = ToJson(eval_metrics_);
    for (const auto& file : prediction_files_) json["predictions"].push_back(file.string());
    if (gflops > 0) {
      json["speed"] = {
          {"examples_per_second",
           static_cast<double>(trained_.examples_seen) / trained_.step_seconds},
          {"tokens_per_second", static_cast<double>(trained_.tokens_seen) / trained_.step_seconds},
          {"useful_gflops", gflops},
          {"peak_gflops", peak_gflops_}};
    }
    console_->Json(io::DumpPython(json, 2, false));
  }

  if (gflops > 0) {
    Say(
        fmt::format("\nspeed: {:.1f} examples/s, {:.0f} tokens/s, {:.1f} useful GFLOP/s = {:.0f} % "
                    "of the {:.0f} "
                    "measured at the start",
                    static_cast<double>(trained_.examples_seen) / trained_.step_seconds,
                    static_cast<double>(trained_.tokens_seen) / trained_.step_seconds, gflops,
                    100 * gflops / peak_gflops_, peak_gflops_));
  }
  for (const auto& file : prediction_files_) Say(fmt::format("predictions: {}", file.string()));
  if (!arguments_.do_train) return;
  Say(
      fmt::format("model: {}\nnext:\n  hagane run_glue --model_name_or_path {} ... --do_predict "
                  "--output_dir predictions\n  in Python: "
                  "transformers.AutoModelForSequenceClassification.from_pretrained(\"{}\")",
                  folder.string(), folder.string(), folder.string()));
}

}  // namespace hagane::cli
