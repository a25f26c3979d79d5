// Files of `hagane score`, predictions and probabilities as two parts, scored against a fixed
// dataset.
#include "base/log.h"
#include "data/squad_metrics.h"
#include "data/squad_predictions.h"
#include "fuzz/input.h"

void hagane::fuzz::Read(std::string_view input) {
  static NullLog log;
  static const data::QaDataset dataset = [] {
    const MemoryFile file(
        R"({"version":"v2.0","data":[{"paragraphs":[{"context":"a b caf\u00e9","qas":[
        {"id":"1","question":"q","answers":[{"text":"the b","answer_start":2},{"text":"caf\u00e9","answer_start":4}]},
        {"id":"2","question":"q","answers":[],"is_impossible":true},
        {"id":"1","question":"q","answers":[{"text":"a","answer_start":0}]}]}]}]})");
    return data::ReadSquad(file.path(), {"dataset", data::QaUse::kScore, {}}, log);
  }();
  const auto parts = Parts(input, 2);
  const MemoryFile predictions_file(parts[0]), probabilities_file(parts[1]);
  const data::SquadPredictions predictions(predictions_file.path(), dataset, log);
  Require(predictions.pointers().size() == dataset.examples.size());
  data::SquadScoring scoring;
  scoring.version_2 = true;
  scoring.search_threshold = !parts[1].empty();
  if (scoring.search_threshold)
    scoring.no_answer = data::ReadNoAnswerProbabilities(probabilities_file.path(), dataset, log);
  for (const data::QaMetric& metric :
       data::SquadMetrics(dataset, predictions.pointers(), scoring, log)) {
    const bool percentage = metric.name == "exact" || metric.name == "f1";
    Require(!percentage || (metric.value >= 0 && metric.value <= 100));
  }
}
