#include "cli/model_card.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/version.h"
#include "io/json.h"

namespace hagane::cli {

namespace {

// A YAML scalar that needs no escaping rules of YAML's own: JSON's strings are YAML.
std::string Quoted(const std::string& text) { return io::DumpPython(text, 0, false); }

}  // namespace

std::string ModelCardText(const ModelCard& card, const train::TrainOptions& options,
                          const std::string& output_name) {
  std::string text = fmt::format(
      "---\nlibrary_name: transformers\nbase_model: {}\ntags:\n- generated_from_trainer\n---\n\n"
      "# {}\n\nThis model is a fine-tuned version of {} on {}.\n",
      Quoted(card.base_model), output_name, card.base_model, card.data);
  if (!card.evaluation.empty()) {
    text += "It achieves the following results on the evaluation set:\n";
    for (const auto& [key, value] : card.evaluation) {
      if (const auto* real = std::get_if<double>(&value)) {
        text += fmt::format("- {}: {:.4f}\n", key, *real);
      }
    }
  }
  text += fmt::format(
      "\n## Hyperparameters\n- learning_rate: {}\n- train_batch_size: {}\n- eval_batch_size: {}\n"
      "- gradient_accumulation_steps: {}\n- seed: {}\n- optimizer: AdamW, betas ({}, {}), epsilon "
      "{}\n- precision: {}\n- {}\n\nAll arguments: run_args.json. Made with hagane {}.\n",
      io::PythonFloat(options.optimizer.learning_rate), options.train_batch_size,
      options.eval_batch_size, options.accumulation, options.seed,
      io::PythonFloat(options.optimizer.beta1), io::PythonFloat(options.optimizer.beta2),
      io::PythonFloat(options.optimizer.epsilon), card.bf16 ? "bf16" : "fp32",
      options.max_steps > 0
          ? fmt::format("max_steps: {}", options.max_steps)
          : fmt::format("num_epochs: {}", io::PythonFloat(options.num_train_epochs)),
      ProgramVersion());
  return text;
}

}  // namespace hagane::cli
