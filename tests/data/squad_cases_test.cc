// The public reports that touch question answering, each with its own files (shared/cases), and the
// small odd files of shared/data/fixtures.
#include <nlohmann/json.hpp>

#include "base/run_context.h"
#include "data/qa_answers.h"
#include "data/qa_windows.h"
#include "data/squad.h"
#include "data/squad_metrics.h"
#include "tests/data/test_files.h"
#include "text/tokenizer.h"

namespace hagane::data {
namespace {

using Ids = std::vector<int32_t>;
using Json = nlohmann::json;

class SquadCase : public ::testing::Test {
 protected:
  SquadCase() { ctx_.log = &log_; }
  QaDataset Read(const char* file, QaUse use = QaUse::kTrain) {
    return ReadSquad(folder_ / file, {"train", use, {}}, log_);
  }
  QaWindows Windows(const QaDataset& dataset, const char* vocabulary = "bert-base-uncased") {
    const bool roberta = std::string_view(vocabulary) == "roberta-base";
    return MakeQaWindows(
        ctx_, dataset,
        *text::LoadTokenizer(Shared("data/vocab") / vocabulary, roberta ? "roberta" : "bert", log_),
        options_);
  }
  std::filesystem::path folder_;
  KeptLog log_;
  RunContext ctx_;
  QaWindowOptions options_;
};

TEST_F(SquadCase, BL01NestedAndFlatFilesGiveTheSameWindows) {
  folder_ = Shared("cases/BL-01-nested-or-flat-squad");
  HAGANE_SKIP_WITHOUT(folder_);
  options_.max_length = 128;
  options_.doc_stride = 32;
  options_.labels = true;
  const Json expected = Json::parse(std::ifstream(folder_ / "expected.json"));
  for (const char* file : {"nested.json", "flat.json"}) {
    const QaDataset dataset = Read(file);
    const Features features = Windows(dataset).features;
    ASSERT_EQ(dataset.examples.size(), expected["examples"]);
    ASSERT_EQ(features.rows(), 3);
    for (size_t i = 0; i < 3; ++i) {
      const Json& row = expected["features (max_seq_length 128)"][i];
      EXPECT_EQ(dataset.examples[i].id, row["id"]);
      EXPECT_EQ(features.length(static_cast<int64_t>(i)), row["n_tokens"]);
      EXPECT_EQ(features.start_labels[i], row["start_token"]);
      EXPECT_EQ(features.end_labels[i], row["end_token"]);
    }
  }
}

TEST_F(SquadCase, BL02QuestionsWithoutAnswersArePredictedAndNotScored) {
  folder_ = Shared("cases/BL-02-answers-key-missing");
  HAGANE_SKIP_WITHOUT(folder_);
  const QaDataset dataset = Read("predict.json", QaUse::kPredict);
  ASSERT_EQ(dataset.examples.size(), 3u);
  EXPECT_TRUE(log_.warnings.empty());
  const QaWindows windows = Windows(dataset);
  EXPECT_EQ(windows.example, (Ids{0, 1, 2}));
  const std::vector<float> logits(2 * windows.features.ids.size());
  QaAnswerOptions options;
  options.version_2 = true;
  const QaAnswers answers = FindQaAnswers(ctx_, dataset, windows, logits, options);
  EXPECT_EQ(Json::parse(PredictionsJson(dataset, answers)).size(), 3u);

  const auto metrics = SquadMetrics(dataset, {"1894", "", "two"}, true, log_);
  EXPECT_EQ(metrics[2].name, "total");
  EXPECT_EQ(metrics[2].value, 2);
  ASSERT_EQ(log_.warnings.size(), 1u);
  EXPECT_NE(log_.warnings[0].find("(n1)"), std::string::npos);

  options_.labels = true;
  const QaWindows trained = Windows(Read("predict.json"));
  EXPECT_EQ(trained.example, (Ids{1, 2}));
  EXPECT_EQ(trained.features.start_labels[0], 0);
  EXPECT_EQ(trained.features.end_labels[0], 0);
  EXPECT_EQ(log_.warnings.size(), 2u);
}

TEST_F(SquadCase, BL04BlanksBeforeAQuestionDoNotCount) {
  folder_ = Shared("cases/BL-04-question-leading-blanks");
  HAGANE_SKIP_WITHOUT(folder_);
  const Json expected = Json::parse(std::ifstream(folder_ / "expected.json"))["stripped"];
  const QaWindows windows = Windows(Read("train.json"), "roberta-base");
  EXPECT_EQ(windows.features.ids, expected["ids"].get<Ids>());
  const size_t context = 8;  // tokens before it
  for (size_t i = context; i + 1 < windows.offsets.size(); ++i) {
    EXPECT_EQ(windows.offsets[i].begin, expected["offsets"][i][0]);
    EXPECT_EQ(windows.offsets[i].end, expected["offsets"][i][1]);
  }
}

TEST_F(SquadCase, BL05AQuestionThatFillsTheWindowIsLeftOutAndNamed) {
  folder_ = Shared("cases/BL-05-question-fills-window");
  HAGANE_SKIP_WITHOUT(folder_);
  options_.labels = true;
  options_.max_length = 64;
  options_.doc_stride = 16;
  EXPECT_EQ(Windows(Read("train.json")).example, Ids{1});
  ASSERT_EQ(log_.warnings.size(), 1u);
  EXPECT_NE(log_.warnings[0].find("(l1) leave no room"), std::string::npos);
  options_.max_length = 12;
  options_.doc_stride = 4;
  ExpectError([&] { Windows(Read("train.json")); },
              {"2 of 2 questions (l1, l2)", "--max_seq_length 12", "--doc_stride 4"});
}

TEST_F(SquadCase, SmallOddFilesAreWhatTheyAre) {
  folder_ = Shared("data/fixtures/farm-qa");
  HAGANE_SKIP_WITHOUT(folder_);
  const auto target = [&](const char* file) { return Read(file).examples.at(0).target; };
  EXPECT_EQ(target("vanilla.json"), QaTarget::kSpan);
  EXPECT_EQ(target("train-sample.json"), QaTarget::kSpan);
  EXPECT_EQ(target("dev-sample.json"), QaTarget::kSpan);
  EXPECT_EQ(target("noanswer.json"), QaTarget::kNoAnswer);
  EXPECT_EQ(target("eval-sample.json"), QaTarget::kNoAnswer);
  EXPECT_TRUE(log_.warnings.empty());
  const QaDataset wrong_offset = Read("answer-offset-wrong.json");
  EXPECT_EQ(wrong_offset.examples[0].target_begin, 11);
  EXPECT_EQ(wrong_offset.issue(QaIssue::kMovedAnswer).count, 1);
  EXPECT_EQ(target("answer-wrong.json"), QaTarget::kUnusable);
}

TEST_F(SquadCase, TheScriptsOwnSampleIsVersionTwo) {
  folder_ = Shared("data/fixtures/hf-samples/SQUAD");
  HAGANE_SKIP_WITHOUT(folder_);
  const QaDataset dataset = Read("sample.json");
  EXPECT_TRUE(dataset.version_2);
  EXPECT_FALSE(dataset.examples.empty());
  EXPECT_TRUE(log_.warnings.empty());
}

}  // namespace
}  // namespace hagane::data
