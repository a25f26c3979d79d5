// What a run leaves behind and says at its end.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/fine_tuning_run.h"
#include "cli/model_card.h"
#include "io/atomic_write.h"
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

void FineTuningRun::WriteModelCard() const {
  const std::filesystem::path& folder = arguments_.output.path;
  ModelCard card;
  card.base_model = arguments_.model.name_or_path;
  card.data = task_->data_name();
  card.bf16 = arguments_.bf16;
  card.evaluation = eval_metrics_;
  io::WriteFileAtomically(folder / kModelCardFile,
                          ModelCardText(card, options_, folder.filename().string()));
}

double FineTuningRun::UsefulGflops() const {
  return trained_.step_seconds > 0 ? trained_.useful_flops / trained_.step_seconds / 1e9 : 0;
}

void FineTuningRun::PrintJson() const {
  nlohmann::ordered_json json;
  json["output_dir"] = arguments_.output.path.string();
  if (!train_metrics_.empty()) json["train"] = ToJson(train_metrics_);
  if (!eval_metrics_.empty()) json["eval"] = ToJson(eval_metrics_);
  if (!predict_metrics_.empty()) json["predict"] = ToJson(predict_metrics_);
  for (const auto& file : prediction_files_) json["predictions"].push_back(file.string());
  if (UsefulGflops() > 0) {
    json["speed"] = {
        {"examples_per_second",
         static_cast<double>(trained_.examples_seen) / trained_.step_seconds},
        {"tokens_per_second", static_cast<double>(trained_.tokens_seen) / trained_.step_seconds},
        {"useful_gflops", UsefulGflops()},
        {"peak_gflops", peak_gflops_ * group_->size()}};
  }
  if (trained_.reduce.total > 0) {
    json["communication"] = {{"seconds", trained_.reduce.total},
                             {"exposed_seconds", trained_.reduce.exposed},
                             {"processes", group_->size()}};
  }
  console_->Json(io::DumpPython(json, 2, false));
}

void FineTuningRun::Finish() {
  const std::string folder = arguments_.output.path.string();
  if (arguments_.do_train) WriteModelCard();
  if (arguments_.presentation.json) PrintJson();
  if (UsefulGflops() > 0) {
    Say(fmt::format(
        "\nspeed: {:.1f} examples/s, {:.0f} tokens/s, {:.1f} useful GFLOP/s = {:.0f} % "
        "of the {:.0f} measured at the start",
        static_cast<double>(trained_.examples_seen) / trained_.step_seconds,
        static_cast<double>(trained_.tokens_seen) / trained_.step_seconds, UsefulGflops(),
        100 * UsefulGflops() / (peak_gflops_ * group_->size()), peak_gflops_ * group_->size()));
  }
  const comm::ReduceTimes& reduce = trained_.reduce;
  if (reduce.total > 0) {
    Say(fmt::format(
        "communication of gradients: {}, {:.0f} % of it hidden behind backward; {:.1f} % "
        "of the step was waiting for it",
        FormatDuration(reduce.total), 100 * (1 - reduce.exposed / reduce.total),
        100 * reduce.exposed / trained_.step_seconds));
  }
  for (const auto& file : prediction_files_) Say(fmt::format("predictions: {}", file.string()));
  if (!arguments_.do_train) return;
  Say(
      fmt::format("model: {}\nnext:\n  hagane {} --model_name_or_path {} ... --do_predict "
                  "--output_dir predictions\n  in Python: "
                  "transformers.{}.from_pretrained(\"{}\")",
                  folder, task_->command(), folder, task_->auto_class(), folder));
}

}  // namespace hagane::cli
