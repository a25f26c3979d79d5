// Windows, labels, answers and scores against those of the reference, on real articles
// (shared/oracle/squad).
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/run_context.h"
#include "data/qa_answers.h"
#include "data/qa_windows.h"
#include "data/squad.h"
#include "data/squad_metrics.h"
#include "tests/data/test_files.h"
#include "text/tokenizer.h"

namespace hagane::data {
namespace {

using Json = nlohmann::ordered_json;

Json ReadJson(const std::filesystem::path& path) { return Json::parse(std::ifstream(path)); }

struct Folder {
  const char* name;
  bool version_2, roberta;
};
void PrintTo(const Folder& folder, std::ostream* out) { *out << folder.name; }

// Whether the 20th and the 21st logit of the window are equal: which of the two tokens is taken is
// not defined in the reference, so that the share of all candidates of the question may differ.
bool HasTie(const Json& logits) {
  auto values = logits.get<std::vector<float>>();
  std::sort(values.begin(), values.end(), std::greater<>());
  return values.size() > 20 && values[19] == values[20];
}

class SquadOracle : public ::testing::TestWithParam<Folder> {
 protected:
  SquadOracle() {
    ctx_.log = &log_;
    ctx_.threads = 2;
  }
  // The questions of the folder: the first 150 of one article.
  QaDataset Dataset() {
    const std::string source = expected_["source"];
    const std::string article = source.substr(source.rfind(' ') + 1);
    const auto file = Shared("data/squad") / source.substr(0, source.find(','));
    Json part = {{"version", GetParam().version_2 ? "v2.0" : "1.1"}, {"data", Json::array()}};
    const Json whole = ReadJson(file);
    for (const Json& entry : whole["data"]) {
      if (entry["title"] == article) part["data"].push_back(entry);
    }
    QaReadOptions options;
    options.use = QaUse::kTrain;
    options.max_examples = 150;
    return ReadSquad(folder_.Write("part.json", part.dump()), options, log_);
  }
  QaWindows Windows(const QaDataset& dataset, bool labels) {
    const auto tokenizer = text::LoadTokenizer(
        Shared(GetParam().roberta ? "data/vocab/roberta-base" : "data/vocab/bert-base-uncased"),
        GetParam().roberta ? "roberta" : "bert", log_);
    QaWindowOptions options;
    options.max_length = expected_["max_seq_length"];
    options.doc_stride = expected_["doc_stride"];
    options.labels = labels;
    return MakeQaWindows(ctx_, dataset, *tokenizer, options);
  }

  RunContext ctx_;
  KeptLog log_;
  TemporaryFolder folder_;
  Json expected_;
};

TEST_P(SquadOracle, WindowsLabelsAnswersAndScoresAreTheReferences) {
  const auto folder = Shared("oracle/squad") / GetParam().name;
  HAGANE_SKIP_WITHOUT(folder);
  expected_ = ReadJson(folder / "features.json");
  const Json& rows = expected_["features"];
  const QaDataset dataset = Dataset();
  ASSERT_EQ(dataset.examples.size(), 150u);
  const QaWindows trained = Windows(dataset, true), evaluated = Windows(dataset, false);
  ASSERT_EQ(trained.features.rows(), static_cast<int64_t>(rows.size()));
  ASSERT_EQ(evaluated.features.ids, trained.features.ids);
  ASSERT_EQ(evaluated.example, trained.example);

  std::vector<float> logits;
  std::set<std::string> tied;
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto begin = trained.features.ids.begin() + trained.features.row_start[row];
    const auto end = trained.features.ids.begin() + trained.features.row_start[row + 1];
    const auto ids = rows[row]["ids"].get<std::vector<int32_t>>();
    ASSERT_TRUE(std::equal(begin, end, ids.begin(), ids.end())) << "window " << row;
    const auto example = static_cast<size_t>(trained.example[row]);
    EXPECT_EQ(dataset.examples[example].id, rows[row]["example_id"]);
    EXPECT_EQ(trained.features.start_labels[row], rows[row]["start_position"]) << "window " << row;
    EXPECT_EQ(trained.features.end_labels[row], rows[row]["end_position"]) << "window " << row;
    if (HasTie(rows[row]["start_logits"]) || HasTie(rows[row]["end_logits"]))
      tied.insert(dataset.examples[example].id);
    for (size_t i = 0; i < ids.size(); ++i) {
      logits.push_back(rows[row]["start_logits"][i]);
      logits.push_back(rows[row]["end_logits"][i]);
    }
  }

  QaAnswerOptions options;
  options.version_2 = GetParam().version_2;
  const QaAnswers answers = FindQaAnswers(ctx_, dataset, evaluated, logits, options);
  const Json predictions = ReadJson(folder / "predictions.json");
  const Json n_best = ReadJson(folder / "nbest_top5.json");
  const Json odds =
      options.version_2 ? ReadJson(folder / "null_odds.json") : Json(Json::value_t::object);
  ASSERT_EQ(predictions.size(), 150u);
  for (size_t i = 0; i < 150; ++i) {
    const std::string& id = dataset.examples[i].id;
    EXPECT_EQ(answers.texts[i], predictions[id]) << id;
    const Json& best = n_best[id];
    for (size_t k = 0; k < best.size(); ++k) {
      const QaCandidate& candidate = answers.n_best[i].at(k);
      EXPECT_EQ(candidate.text, best[k]["text"]) << id << " " << k;
      EXPECT_EQ(candidate.start_logit, best[k]["start_logit"].get<float>());
      EXPECT_EQ(candidate.end_logit, best[k]["end_logit"].get<float>());
      const float probability = best[k]["probability"];
      const float tolerance = tied.contains(id) ? 2e-2f : 1e-6f;
      EXPECT_NEAR(candidate.probability, probability, tolerance * probability) << id << " " << k;
    }
    if (options.version_2) {
      EXPECT_EQ(answers.null_odds[i], odds[id].get<float>()) << id;
    }
  }
  EXPECT_LE(tied.size(), 25u);
  const std::vector<QaMetric> metrics =
      SquadMetrics(dataset, answers.texts, options.version_2, log_);
  EXPECT_NEAR(metrics[0].value, expected_["exact_match"].get<double>(), 1e-9);
  EXPECT_NEAR(metrics[1].value, expected_["f1"].get<double>(), 1e-9);
  EXPECT_TRUE(log_.warnings.empty()) << log_.warnings.front();
}

INSTANTIATE_TEST_SUITE_P(Folders, SquadOracle,
                         ::testing::Values(Folder{"v1-bert-base-uncased-128-48", false, false},
                                           Folder{"v1-bert-base-uncased-384-128", false, false},
                                           Folder{"v1-roberta-base-128-48", false, true},
                                           Folder{"v1-roberta-base-384-128", false, true},
                                           Folder{"v2-bert-base-uncased-128-48", true, false},
                                           Folder{"v2-bert-base-uncased-384-128", true, false},
                                           Folder{"v2-roberta-base-128-48", true, true},
                                           Folder{"v2-roberta-base-384-128", true, true}),
                         [](const auto& entry) {
                           std::string name = entry.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace hagane::data
