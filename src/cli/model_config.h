// config.json: the class names that a sequence-classification model's holds, and the one that is
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

// The source's keys and what every fine-tuned model has: where it comes from, its class, its type
// of weights. The task adds the rest.
nlohmann::ordered_json SavedConfig(const nlohmann::ordered_json& source,
                                   const std::string& name_or_path,
                                   const std::string& architecture);
// id2label and label2id, and finetuning_task unless `task_name` is empty.
void AddLabels(const data::LabelSpec& labels, const std::string& task_name,
               nlohmann::ordered_json* config);
void AddProblemType(ProblemType problem, nlohmann::ordered_json* config);

}  // namespace hagane::cli
