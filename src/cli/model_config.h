// config.json of a sequence-classification model: the class names it holds, and the one that is
// saved.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "data/text_dataset.h"

namespace hagane::cli {

// The model's class names in id order; empty when config.json has none of its own (only LABEL_0,
// LABEL_1, ...) or does not number them 0, 1, 2, ...
std::vector<std::string> ModelLabelNames(const nlohmann::ordered_json& config);

// "regression", "single_label_classification", "multi_label_classification".
std::string_view ProblemTypeName(ProblemType problem);

// config.json's problem_type, where there is one, must be what the labels are. Throws an Error.
void CheckProblemType(const nlohmann::ordered_json& config, const std::string& origin,
                      ProblemType problem);

struct SavedConfigOptions {
  data::LabelSpec labels;
  std::string task_name;  // empty: none
  std::string name_or_path;
  std::string architecture;  // nn::ArchitectureName
  bool set_problem_type = true;
};
// Every key of the source, and what fine-tuning adds.
nlohmann::ordered_json SavedConfig(const nlohmann::ordered_json& source,
                                   const SavedConfigOptions& options);

}  // namespace hagane::cli
