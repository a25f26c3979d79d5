// What `hagane score` is given beside the data: the answers of some program, by the ids of
// questions.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/squad.h"
#include "data/squad_metrics.h"

namespace hagane::data {

// {"id": "answer", ...}, as eval_predictions.json.
class SquadPredictions {
 public:
  // Throws an Error that names the file and the id. Answers to other questions are counted in a
  // warning.
  SquadPredictions(const std::filesystem::path& path, const QaDataset& dataset, Log& log);

  // By example of the dataset; null where there is no answer.
  std::span<const std::string* const> pointers() const { return pointers_; }

 private:
  std::vector<std::optional<std::string>> texts_;
  std::vector<const std::string*> pointers_;
};

// {"id": probability that there is no answer, ...}. Throws an Error that names the file and the id;
// questions without one are counted in a warning.
std::vector<NoAnswerProbability> ReadNoAnswerProbabilities(const std::filesystem::path& path,
                                                           const QaDataset& dataset, Log& log);

}  // namespace hagane::data
