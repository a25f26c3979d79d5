// The public reports that touch data, each with its own files (shared/cases).
#include <nlohmann/json.hpp>

#include "base/run_context.h"
#include "data/packing.h"
#include "data/text_dataset.h"
#include "data/tokenize.h"
#include "tests/data/test_files.h"
#include "text/tokenizer.h"

namespace hagane::data {
namespace {

using Ids = std::vector<int32_t>;
using Names = std::vector<std::string>;
using Json = nlohmann::json;

class Case : public ::testing::Test {
 protected:
  void Use(const char* name) { folder_ = Shared("cases") / name; }
  Json Expected() const { return Json::parse(std::ifstream(folder_ / "expected.json")); }
  TextDataset Train(const char* file) {
    SplitRequest request;
    request.train = true;
    return ReadOwnFiles({folder_ / file, {}, {}}, request, log_);
  }
  std::filesystem::path folder_;
  KeptLog log_;
};

TEST_F(Case, BL07StrayQuotesStayInTsvAndQuoteInCsv) {
  Use("BL-07-stray-quotes-in-tsv");
  HAGANE_SKIP_WITHOUT(folder_);
  const Json expected = Expected();
  const TextSplit tsv = *Train("train.tsv").train;
  EXPECT_EQ(tsv.rows(), expected["rows"]);
  EXPECT_EQ(tsv.text_a[1], expected["row2.sentence1"]);
  EXPECT_EQ(tsv.text_b[3], expected["row4.sentence2"]);
  EXPECT_EQ(tsv.text_b[4], expected["row5.sentence2"]);
  EXPECT_EQ(tsv.class_labels, expected["labels"].get<Ids>());
  const TextSplit csv = *Train("train.csv").train;
  EXPECT_EQ(csv.rows(), expected["train.csv rows"]);
  EXPECT_EQ(csv.text_a[0], expected["train.csv row1.sentence1"]);
  EXPECT_EQ(csv.text_a[1], expected["train.csv row2.sentence1"]);
  EXPECT_EQ(csv.text_b[1], "comma , inside");
}

TEST_F(Case, BL08ByteOrderMarkAndCrlfLeaveNoTrace) {
  Use("BL-08-bom-and-crlf-csv");
  HAGANE_SKIP_WITHOUT(folder_);
  const Json expected = Expected();
  SplitRequest request;
  request.train = request.evaluation = true;
  const TextDataset data =
      ReadOwnFiles({folder_ / "train.csv", folder_ / "validation.json", {}}, request, log_);
  EXPECT_EQ(data.train->rows(), expected["rows"]);
  EXPECT_EQ(data.evaluation[0].rows(), expected["rows"]);
  EXPECT_EQ(data.train->text_b[0], expected["row1.sentence2"]);
  EXPECT_EQ(data.evaluation[0].text_b, (Names{"The kiln is warm.", "b"}));
  EXPECT_EQ(data.evaluation[0].class_labels, (Ids{1, 0}));

  const auto vocabulary = Shared("data/vocab/bert-base-uncased");
  HAGANE_SKIP_WITHOUT(vocabulary);
  const auto tokenizer = text::LoadTokenizer(vocabulary, "bert", log_);
  RunContext ctx;
  ctx.log = &log_;
  const Features features = TokenizeSplit(ctx, *data.train, data.labels, *tokenizer, {});
  EXPECT_EQ(Ids(features.ids.begin(), features.ids.begin() + features.length(0)),
            expected["row1 ids"].get<Ids>());
}

TEST_F(Case, BL10DecimalsAreARegressionWholeNumbersAndTextsAreClasses) {
  Use("BL-10-regression-or-classes");
  HAGANE_SKIP_WITHOUT(folder_);
  const TextDataset decimals = Train("float.csv");
  EXPECT_EQ(decimals.labels.problem, ProblemType::kRegression);
  EXPECT_EQ(decimals.labels.outputs, 1);
  EXPECT_EQ(decimals.labels.metrics, MetricSet::kMse);
  EXPECT_EQ(decimals.train->float_labels, (std::vector<float>{3.5f, 0, 5}));
  const TextDataset whole = Train("int.csv");
  EXPECT_EQ(whole.labels.names, (Names{"0", "3", "5"}));
  EXPECT_EQ(whole.train->class_labels, (Ids{1, 0, 2}));
  EXPECT_TRUE(log_.warnings.empty());
  const TextDataset strings = Train("strings.json");
  EXPECT_EQ(strings.labels.names, (Names{"0.0", "3.5", "5.0"}));
  EXPECT_EQ(strings.train->class_labels, (Ids{1, 0, 2}));
  ASSERT_EQ(log_.warnings.size(), 1u);
  EXPECT_NE(log_.warnings[0].find("all labels are numbers"), std::string::npos);
}

TEST_F(Case, BL11LabelsWithGapsAreNumberedInNumericOrder) {
  Use("BL-11-labels-from-one-with-gaps");
  HAGANE_SKIP_WITHOUT(folder_);
  SplitRequest request;
  request.train = request.prediction = true;
  const TextDataset data =
      ReadOwnFiles({folder_ / "train.csv", {}, folder_ / "test.csv"}, request, log_);
  EXPECT_EQ(data.labels.outputs, Expected()["num_labels"]);
  for (size_t id = 0; id < data.labels.names.size(); ++id) {
    EXPECT_EQ(Expected()["label2id"].at(data.labels.names[id]), id);
  }
  EXPECT_EQ(data.train->class_labels, (Ids{0, 1, 2, 0}));
  EXPECT_EQ(data.prediction[0].text_a, (Names{"blue sky", "red door"}));
}

TEST_F(Case, BL12ATestFileNeedsNoLabels) {
  Use("BL-12-test-without-labels");
  HAGANE_SKIP_WITHOUT(folder_);
  for (const char* test : {"test_minus1.csv", "test_nocol.csv"}) {
    SplitRequest request;
    request.prediction = true;
    const TextDataset data =
        ReadOwnFiles({folder_ / "train.csv", {}, folder_ / test}, request, log_);
    ASSERT_EQ(data.prediction.size(), 1u);
    EXPECT_EQ(data.prediction[0].text_a, (Names{"hot", "icy"}));
    EXPECT_FALSE(data.prediction[0].has_labels);
    EXPECT_EQ(data.prediction[0].class_labels, (Ids{-1, -1}));
    EXPECT_FALSE(data.train.has_value());
  }
}

TEST_F(Case, BL14ClassesFollowTheModelsNumberingByName) {
  Use("BL-14-config-labels-differ");
  HAGANE_SKIP_WITHOUT(folder_);
  const Json config = Json::parse(std::ifstream(folder_ / "config-mnli-order.json"));
  Names model_names;
  for (size_t i = 0; i < 3; ++i) model_names.push_back(config["id2label"].at(std::to_string(i)));

  TextDataset mnli;
  mnli.labels = {ProblemType::kSingleLabel,
                 3,
                 {"entailment", "neutral", "contradiction"},
                 MetricSet::kAccuracy};
  mnli.evaluation.emplace_back();
  mnli.evaluation[0].class_labels = {0, 1, 2, -1};
  EXPECT_TRUE(RemapToModelLabels(model_names, &mnli));
  EXPECT_EQ(mnli.evaluation[0].class_labels, (Ids{2, 1, 0, -1}));
  EXPECT_EQ(mnli.labels.names, (Names{"contradiction", "neutral", "entailment"}));

  TextDataset own = Train("train.csv");
  EXPECT_FALSE(RemapToModelLabels(model_names, &own));
  EXPECT_EQ(own.labels.names, (Names{"no", "yes"}));
  EXPECT_EQ(own.labels.outputs, 2);
}

TEST_F(Case, BL22RobertaPositionsBeginBehindThePadId) {
  Use("BL-22-roberta-positions");
  HAGANE_SKIP_WITHOUT(folder_);
  const Json expected = Expected();
  Features features;
  features.ids = expected["ids padded to 6"].get<Ids>();
  features.row_start = {0, features.tokens()};
  PackedBatch batch;
  AppendRow(features, 0, 0, PositionRule{2, 1}, &batch);
  EXPECT_EQ(batch.positions, expected["position_ids"].get<Ids>());
}

}  // namespace
}  // namespace hagane::data
