// README.md of a fine-tuned model, in short.
#pragma once

#include <string>

#include "cli/metrics_format.h"
#include "train/options.h"

namespace hagane::cli {

struct ModelCard {
  std::string base_model;
  std::string data;  // "GLUE MRPC", "train.csv"
  bool bf16 = false;
  NamedMetrics evaluation;  // empty: none
};
std::string ModelCardText(const ModelCard& card, const train::TrainOptions& options,
                          const std::string& output_name);

}  // namespace hagane::cli
