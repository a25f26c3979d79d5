#include "cli/score_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/flag_parser.h"
#include "cli/help.h"
#include "data/squad.h"
#include "data/squad_metrics.h"
#include "data/squad_predictions.h"
#include "io/atomic_write.h"
#include "io/json.h"

namespace hagane::cli {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Flag> ScoreFlags() {
  using enum FlagType;
  using enum FlagUse;
  const FlagGroup group = FlagGroup::kHagane;
  return {
      {"dataset", kString, "", group, "SQuAD file with the right answers", kUsed, {}, {}, true},
      {"predictions", kString, "", group, "JSON object of ids and answers", kUsed, {}, {}, true},
      {"na_prob_file",
       kString,
       "",
       group,
       "JSON object of ids and probabilities that there is no answer (2.0): adds the best "
       "thresholds",
       kUsed,
       {},
       {},
       true},
      {"na_prob_thresh",
       kFloat,
       "1.0",
       group,
       "a probability above it counts as no answer",
       kUsed,
       {},
       {},
       true},
      {"out", kString, "", group, "file for the scores, as JSON", kUsed, {"out_file"}, {}, true},
      {"json", kBool, "False", group, "stdout holds one JSON object", kUsed, {}, {}, true},
      {"help", kBool, "False", group, "this text"},
  };
}

Json ToJson(const std::vector<data::QaMetric>& metrics) {
  Json json = Json::object();
  for (const data::QaMetric& metric : metrics) {
    if (metric.count) {
      json[metric.name] = static_cast<int64_t>(metric.value);
    } else {
      json[metric.name] = metric.value;
    }
  }
  return json;
}

std::string ToText(const Json& metrics) {
  size_t width = 0;
  for (const auto& [name, value] : metrics.items()) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, value] : metrics.items())
    text += fmt::format("{:<{}} = {}\n", name, width, io::DumpPython(value, -1, false));
  return text;
}

}  // namespace

int ScoreCommand(const std::vector<std::string>& args, const Streams& streams) {
  const ParsedFlags flags = ParseFlags(ScoreFlags(), args, "hagane score");
  if (flags.Bool("help")) {
    streams.out << CommandHelp("hagane score --dataset FILE --predictions FILE [flags]",
                               "The scores of the official SQuAD scripts: exact match and F1 of "
                               "1.1; those of 2.0 when the\n"
                               "dataset's version is 2 or it has questions without an answer.",
                               ScoreFlags(), false);
    return 0;
  }
  for (const char* name : {"dataset", "predictions"}) {
    if (!flags.given(name)) throw UsageError(fmt::format("--{} is missing", name));
  }
  Console console(streams, Console::Level::kAll);
  const std::string file = flags.String("dataset");
  const data::QaDataset dataset =
      data::ReadSquad(file, {"dataset", data::QaUse::kScore, {}}, console);
  const data::SquadPredictions predictions(flags.String("predictions"), dataset, console);

  data::SquadScoring scoring;
  scoring.version_2 = dataset.version_2;
  scoring.no_answer_threshold = flags.Float("na_prob_thresh");
  scoring.search_threshold = flags.given("na_prob_file");
  if (scoring.search_threshold) {
    if (!dataset.version_2) {
      throw UsageError(fmt::format("--na_prob_file needs SQuAD 2.0 data, and {} is not", file),
                       "leave it out: all questions of this file have an answer");
    }
    scoring.no_answer =
        data::ReadNoAnswerProbabilities(flags.String("na_prob_file"), dataset, console);
  }
  const Json scores = ToJson(data::SquadMetrics(dataset, predictions.pointers(), scoring, console));
  const std::string line = io::DumpPython(scores, -1, false) + "\n";
  if (flags.given("out")) io::WriteFileAtomically(flags.String("out"), line);
  streams.out << (flags.Bool("json") ? line : ToText(scores));
  return 0;
}

}  // namespace hagane::cli
