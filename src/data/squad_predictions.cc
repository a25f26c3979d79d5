#include "data/squad_predictions.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "io/json.h"
#include "io/printable.h"

namespace hagane::data {
namespace {

using Json = nlohmann::ordered_json;

constexpr io::JsonLimits kLimits{size_t{64} << 20, 4, size_t{1} << 19, true};
constexpr char kPredictionsForm[] =
    "--predictions is a JSON object {\"id\": \"answer\", ...}, as eval_predictions.json";
constexpr char kProbabilitiesForm[] =
    "--na_prob_file is a JSON object {\"id\": probability that there is no answer, ...}";

Json ReadObject(const std::filesystem::path& path, const char* form) {
  const Json object = WithHint(form, [&] { return io::ReadJsonFile(path, kLimits); });
  if (!object.is_object()) throw Error(fmt::format("{} is no JSON object", path.string()), form);
  return object;
}

}  // namespace

SquadPredictions::SquadPredictions(const std::filesystem::path& path, const QaDataset& dataset,
                                   Log& log) {
  std::unordered_map<std::string, std::string> by_id;
  const Json object = ReadObject(path, kPredictionsForm);
  for (const auto& [id, value] : object.items()) {
    if (!value.is_string() && !value.is_number()) {
      throw Error(
          fmt::format("{}: the prediction of \"{}\" is no text", path.string(), io::Printable(id)),
          kPredictionsForm);
    }
    by_id[id] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  const size_t total = by_id.size();
  size_t used = 0;
  std::unordered_set<std::string_view> seen;
  for (const QaExample& example : dataset.examples) {
    const auto entry = by_id.find(example.id);
    texts_.push_back(entry == by_id.end() ? std::nullopt : std::optional(entry->second));
    used += entry != by_id.end() && seen.insert(example.id).second;
  }
  if (used < total) {
    log.Warning(fmt::format("{} of {} predictions are of questions that the dataset does not have",
                            total - used, total));
  }
  for (const auto& text : texts_) pointers_.push_back(text ? &*text : nullptr);
}

std::vector<NoAnswerProbability> ReadNoAnswerProbabilities(const std::filesystem::path& path,
                                                           const QaDataset& dataset, Log& log) {
  std::unordered_multimap<std::string, size_t> examples;
  for (size_t i = 0; i < dataset.examples.size(); ++i) examples.emplace(dataset.examples[i].id, i);
  std::vector<NoAnswerProbability> probabilities;
  const Json object = ReadObject(path, kProbabilitiesForm);
  for (const auto& [id, value] : object.items()) {
    // NaN has no place in an order.
    if (!value.is_number() || std::isnan(value.get<double>()))
      throw Error(
          fmt::format("{}: the value of \"{}\" is no number", path.string(), io::Printable(id)),
          kProbabilitiesForm);
    const auto [first, last] = examples.equal_range(id);
    for (auto entry = first; entry != last; ++entry)
      probabilities.push_back({entry->second, value.get<double>()});
  }
  if (probabilities.size() < dataset.examples.size()) {
    log.Warning(fmt::format("{} of {} questions have no probability in {} and get 0",
                            dataset.examples.size() - probabilities.size(), dataset.examples.size(),
                            path.string()));
  }
  return probabilities;
}

}  // namespace hagane::data
