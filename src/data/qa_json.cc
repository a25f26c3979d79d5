// The files that the reference writes beside an evaluation, byte for byte.
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/qa_answers.h"
#include "io/json.h"

namespace hagane::data {
namespace {

std::string Quoted(const std::string& text) { return io::DumpPython(text, -1, false); }
std::string Number(double value) {
  return std::isfinite(value) ? io::PythonFloat(value) : io::DumpPython(value, -1, false);
}

// {id: value(example)}, one a line.
template <class Value>
std::string Object(const QaDataset& dataset, Value value) {
  std::string json = "{";
  for (size_t i = 0; i < dataset.examples.size(); ++i) {
    json += i == 0 ? "\n    " : ",\n    ";
    json += Quoted(dataset.examples[i].id) + ": " + value(i);
  }
  return json + (dataset.examples.empty() ? "}\n" : "\n}\n");
}

std::string Candidate(const QaCandidate& candidate) {
  const std::string text = "            \"text\": " + Quoted(candidate.text) + ",\n";
  const std::string logits = "            \"start_logit\": " + Number(candidate.start_logit) +
                             ",\n            \"end_logit\": " + Number(candidate.end_logit) + ",\n";
  return "        {\n" + (candidate.filler ? text + logits : logits + text) +
         "            \"probability\": " + Number(candidate.probability) + "\n        }";
}

}  // namespace

std::string PredictionsJson(const QaDataset& dataset, const QaAnswers& answers) {
  return Object(dataset, [&](size_t i) { return Quoted(answers.texts[i]); });
}

std::string NBestJson(const QaDataset& dataset, const QaAnswers& answers) {
  return Object(dataset, [&](size_t i) {
    std::string list = "[";
    for (const QaCandidate& candidate : answers.n_best[i]) {
      if (list.size() > 1) list += ',';
      list += '\n' + Candidate(candidate);
    }
    return list + "\n    ]";
  });
}

std::string NullOddsJson(const QaDataset& dataset, const QaAnswers& answers) {
  return Object(dataset, [&](size_t i) { return Number(answers.null_odds[i]); });
}

}  // namespace hagane::data
