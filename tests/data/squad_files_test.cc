// Real files in many languages: what is read, and that offsets hold (shared/data/squad).
#include "base/run_context.h"
#include "data/code_points.h"
#include "data/python_text.h"
#include "data/qa_windows.h"
#include "data/squad.h"
#include "tests/data/test_files.h"
#include "text/tokenizer.h"

namespace hagane::data {
namespace {

struct File {
  const char* name;
  size_t questions;
  int64_t moved, lost, repeated;
  const char* tokenizer;
  // Share of the spans whose tokens cover exactly the answer; the others begin or end within a
  // word (Arabic prefixes, "24/7" of "24/7s").
  double exact;
};

void PrintTo(const File& file, std::ostream* out) { *out << file.name; }

class SquadFiles : public ::testing::TestWithParam<File> {
 protected:
  SquadFiles() {
    ctx_.log = &log_;
    ctx_.threads = 2;
  }
  QaWindows Windows(const QaDataset& dataset, bool labels, const char* tokenizer) {
    const bool roberta = std::string(tokenizer) == "roberta-base";
    QaWindowOptions options;
    options.labels = labels;
    return MakeQaWindows(
        ctx_, dataset,
        *text::LoadTokenizer(Shared("data/vocab") / tokenizer, roberta ? "roberta" : "bert", log_),
        options);
  }
  RunContext ctx_;
  KeptLog log_;
};

// Trained spans, looked up by the offsets that evaluation uses, must hold the answer.
TEST_P(SquadFiles, TextAtTheOffsetsOfTheLabelsHoldsTheAnswer) {
  const File& file = GetParam();
  const auto path = Shared("data/squad") / file.name;
  HAGANE_SKIP_WITHOUT(path);
  const QaDataset dataset = ReadSquad(path, {"train", QaUse::kTrain, {}}, log_);
  EXPECT_EQ(dataset.examples.size(), file.questions);
  EXPECT_EQ(dataset.issue(QaIssue::kMovedAnswer).count, file.moved);
  EXPECT_EQ(dataset.issue(QaIssue::kLostAnswer).count, file.lost);
  EXPECT_EQ(dataset.issue(QaIssue::kRepeatedId).count, file.repeated);
  const QaWindows labels = Windows(dataset, true, file.tokenizer);
  const QaWindows offsets = Windows(dataset, false, file.tokenizer);

  int64_t spans = 0, exact = 0;
  size_t window = 0;
  for (size_t row = 0; row < labels.example.size(); ++row, ++window) {
    while (offsets.example[window] < labels.example[row]) ++window;  // not trained
    const int32_t start = labels.features.start_labels[row], end = labels.features.end_labels[row];
    ASSERT_LE(start, end);
    if (start == 0) continue;
    const QaExample& example = dataset.examples[static_cast<size_t>(labels.example[row])];
    const auto first = static_cast<size_t>(offsets.features.row_start[window]);
    const text::Offset begin = offsets.offsets[first + static_cast<size_t>(start)];
    const text::Offset stop = offsets.offsets[first + static_cast<size_t>(end)];
    ASSERT_NE(begin, kNoOffset);
    ASSERT_NE(stop, kNoOffset);
    const CodePoints context(dataset.context(example));
    const std::string_view text = context.Slice(begin.begin, stop.end);
    // A blank at the answer's edge belongs to no token.
    const std::string_view answer = WithoutLeadingBlanks(example.answers[0]);
    const std::string_view core = answer.substr(0, answer.find_last_not_of(" \n") + 1);
    ASSERT_NE(text.find(core), text.npos) << example.id << ": " << text << " / " << answer;
    ++spans;
    exact += text == core;
  }
  EXPECT_GE(spans, static_cast<int64_t>(file.questions) * 9 / 10);
  EXPECT_GE(static_cast<double>(exact), file.exact * static_cast<double>(spans));
}

INSTANTIATE_TEST_SUITE_P(
    Real, SquadFiles,
    ::testing::Values(
        File{"xquad.en.json", 1190, 0, 0, 0, "bert-base-cased", 0.97},
        File{"xquad.de.json", 1190, 0, 0, 0, "bert-base-multilingual-cased", 0.97},
        File{"xquad.zh.json", 1190, 0, 0, 0, "bert-base-multilingual-cased", 0.97},
        File{"xquad.ar.json", 1190, 0, 0, 0, "bert-base-multilingual-cased", 0.9},
        File{"xquad.zh.json", 1190, 0, 0, 0, "roberta-base", 0.97},
        File{"xquad.ar.json", 1190, 0, 0, 0, "roberta-base", 0.9},
        File{"cmrc2018-trial.json", 1002, 5, 0, 0, "bert-base-chinese", 0.97},
        File{"arcd-train.json", 693, 0, 3, 0, "bert-base-multilingual-cased", 0.9},
        File{"jaquad_dev_0000.json", 1029, 0, 0, 0, "bert-base-multilingual-cased", 0.5},
        File{"jaquad_dev_0000.json", 1029, 0, 0, 0, "roberta-base", 0.97},
        File{"covid-qa-200423.json", 1380, 227, 7, 0, "bert-base-cased", 0.6},
        File{"dev-v1.1-3articles-badspans.json", 396, 1, 5, 5, "bert-base-uncased", 0.9}),
    [](const auto& entry) {
      std::string name = std::string(entry.param.name) + "_" + entry.param.tokenizer;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
      return name;
    });

TEST(SquadDevTest, HasTheReferencesNumberOfWindows) {
  const auto path = Shared("data/squad/dev-v1.1.json");
  HAGANE_SKIP_WITHOUT(path);
  KeptLog log;
  RunContext ctx;
  ctx.log = &log;
  ctx.threads = 2;
  const QaDataset dataset = ReadSquad(path, {"validation", QaUse::kEvaluate, {}}, log);
  EXPECT_EQ(dataset.examples.size(), 10570u);
  EXPECT_EQ(dataset.contexts.size(), 2067u);
  EXPECT_FALSE(dataset.version_2);
  const auto tokenizer = text::LoadTokenizer(Shared("data/vocab/bert-base-uncased"), "bert", log);
  EXPECT_EQ(MakeQaWindows(ctx, dataset, *tokenizer, {}).features.rows(), 10784);
  EXPECT_TRUE(log.warnings.empty());
}

}  // namespace
}  // namespace hagane::data
