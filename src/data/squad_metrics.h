// The scores of the official SQuAD 1.1 and 2.0 scripts, and of Hugging Face evaluate's squad and
// squad_v2, which are the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "data/squad.h"

namespace hagane::data {

struct QaMetric {
  std::string name;
  double value = 0;
  bool count = false;  // a whole number: total, HasAns_total, NoAns_total
};

struct NoAnswerProbability {
  size_t example;
  double probability;
};

struct SquadScoring {
  bool version_2 = false;
  // version_2 only. Probabilities that there is no answer, in the order in which ties of the
  // threshold search are broken; examples that are not named have 0.
  std::vector<NoAnswerProbability> no_answer;
  double no_answer_threshold = 1.0;  // a probability above it counts as "no answer"
  bool search_threshold = false;     // appends best_exact, best_exact_thresh, best_f1, ...
};

// Whether the example can be scored: its answers are known and, in 1.1, there is one.
bool CanBeScored(const QaExample& example, bool version_2);

// `predictions` has one element per example; null: there is none, which scores 0. Examples
// that cannot be scored are left out with a warning. In the reference's
// order of names: exact_match, f1; or exact, f1, total, HasAns_*, NoAns_* (where there are such
// questions), best_*. Throws an Error when no example can be scored.
std::vector<QaMetric> SquadMetrics(const QaDataset& dataset,
                                   std::span<const std::string* const> predictions,
                                   const SquadScoring& scoring, Log& log);

// As run_qa evaluates: all probabilities 0, with the search in version_2.
std::vector<QaMetric> SquadMetrics(const QaDataset& dataset,
                                   const std::vector<std::string>& predictions, bool version_2,
                                   Log& log);

// Lower case, without ASCII punctuation, articles and superfluous blanks.
std::string NormalizeAnswer(std::string_view text);

}  // namespace hagane::data
