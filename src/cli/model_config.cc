#include "cli/model_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace hagane::cli {

namespace {

// The version whose behaviour is followed; written where the source names none.
constexpr const char* kTransformersVersion = "4.46.3";

std::string DefaultName(size_t i) { return fmt::format("LABEL_{}", i); }

// names[id] = name for (name, id) pairs; empty unless the ids are 0 .. n-1.
std::vector<std::string> InIdOrder(const std::vector<std::pair<std::string, int64_t>>& pairs) {
  std::vector<std::string> names(pairs.size());
  std::vector<bool> seen(pairs.size(), false);
  for (const auto& [name, id] : pairs) {
    if (id < 0 || id >= static_cast<int64_t>(pairs.size()) || seen[static_cast<size_t>(id)])
      return {};
    seen[static_cast<size_t>(id)] = true;
    names[static_cast<size_t>(id)] = name;
  }
  return names;
}

std::vector<std::string> NamesFromConfig(const nlohmann::ordered_json& config) {
  std::vector<std::pair<std::string, int64_t>> pairs;
  if (const auto found = config.find("label2id"); found != config.end() && found->is_object()) {
    for (const auto& [name, id] : found->items()) {
      if (!id.is_number_integer()) return {};
      pairs.emplace_back(name, id.get<int64_t>());
    }
    return InIdOrder(pairs);
  }
  if (const auto found = config.find("id2label"); found != config.end() && found->is_object()) {
    for (const auto& [id, name] : found->items()) {
      if (!name.is_string() || id.empty() || id.size() > 9 ||
          id.find_first_not_of("0123456789") != std::string::npos) {
        return {};
      }
      pairs.emplace_back(name.get<std::string>(), std::stoll(id));
    }
    return InIdOrder(pairs);
  }
  return {};
}

}  // namespace

std::vector<std::string> ModelLabelNames(const nlohmann::ordered_json& config) {
  const std::vector<std::string> names = NamesFromConfig(config);
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != DefaultName(i)) return names;
  }
  return {};
}

std::string_view ProblemTypeName(ProblemType problem) {
  switch (problem) {
    case ProblemType::kRegression:
      return "regression";
    case ProblemType::kSingleLabel:
      return "single_label_classification";
    case ProblemType::kMultiLabel:
      return "multi_label_classification";
    case ProblemType::kSpan:
      return "";  // config.json has no word for it
  }
  return "";
}

void CheckProblemType(const nlohmann::ordered_json& config, const std::string& origin,
                      ProblemType problem) {
  const auto found = config.find("problem_type");
  if (found == config.end() || found->is_null()) return;
  if (found->is_string() && found->get<std::string>() == ProblemTypeName(problem)) return;
  throw Error(fmt::format("{}: problem_type is {}, but the labels of the data are those of {}",
                          origin, found->dump(), ProblemTypeName(problem)),
              "to train a new head for this data, remove problem_type from that file");
}

nlohmann::ordered_json SavedConfig(const nlohmann::ordered_json& source,
                                   const std::string& name_or_path,
                                   const std::string& architecture) {
  nlohmann::ordered_json config = source;
  config["_name_or_path"] = name_or_path;
  config["architectures"] = {architecture};
  config.erase("dtype");  // transformers 5's name of the next one
  config["torch_dtype"] = "float32";
  if (!config.contains("transformers_version"))
    config["transformers_version"] = kTransformersVersion;
  return config;
}

void AddLabels(const data::LabelSpec& labels, const std::string& task_name,
               nlohmann::ordered_json* config) {
  if (!task_name.empty()) (*config)["finetuning_task"] = task_name;
  auto id2label = nlohmann::ordered_json::object();
  auto label2id = nlohmann::ordered_json::object();
  for (size_t i = 0; i < static_cast<size_t>(labels.outputs); ++i) {
    const std::string name = i < labels.names.size() ? labels.names[i] : DefaultName(i);
    id2label[std::to_string(i)] = name;
    label2id[name] = i;
  }
  (*config)["id2label"] = id2label;
  (*config)["label2id"] = label2id;
  // Older files hold the count too; loaders complain when it contradicts the names.
  for (const char* key : {"num_labels", "_num_labels"}) {
    if (config->contains(key)) (*config)[key] = labels.outputs;
  }
}

void AddProblemType(ProblemType problem, nlohmann::ordered_json* config) {
  (*config)["problem_type"] = ProblemTypeName(problem);
}

}  // namespace hagane::cli
