#include "cli/model_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace hagane::cli {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

data::LabelSpec Classes(Names names) {
  data::LabelSpec labels;
  labels.outputs = static_cast<int>(names.size());
  labels.names = std::move(names);
  return labels;
}

TEST(ModelConfigTest, LabelNamesComeInIdOrder) {
  const Json config = Json::parse(R"({"label2id": {"b": 1, "a": 0, "c": 2}})");
  EXPECT_EQ(ModelLabelNames(config), (Names{"a", "b", "c"}));
  EXPECT_EQ(ModelLabelNames(Json::parse(R"({"id2label": {"1": "y", "0": "x"}})")),
            (Names{"x", "y"}));
}

TEST(ModelConfigTest, DefaultOrBrokenLabelNamesAreNone) {
  for (const char* text :
       {R"({})", R"({"label2id": {"LABEL_0": 0, "LABEL_1": 1}})",
        R"({"label2id": {"a": 0, "b": 2}})", R"({"label2id": {"a": 0, "b": 0}})",
        R"({"label2id": {"a": "0"}})", R"({"id2label": {"0": 5}})", R"({"id2label": {"-1": "a"}})",
        R"({"id2label": {"99999999999999999999": "a"}})", R"({"label2id": null})"}) {
    EXPECT_TRUE(ModelLabelNames(Json::parse(text)).empty()) << text;
  }
}

TEST(ModelConfigTest, SavedConfigKeepsTheSourceAndNamesTheLabels) {
  const Json source = Json::parse(R"({"hidden_size": 20, "odd_key": [1], "num_labels": 9,
      "id2label": {"0": "OLD", "1": "OLDER", "2": "OLDEST"},
      "label2id": {"OLD": 0, "OLDER": 1, "OLDEST": 2}, "transformers_version": "4.2.0"})");
  Json saved = SavedConfig(source, "dir/model", "BertForSequenceClassification");
  AddLabels(Classes({"no", "yes"}), "mrpc", &saved);
  AddProblemType(ProblemType::kSingleLabel, &saved);
  EXPECT_EQ(saved["odd_key"], Json({1}));
  EXPECT_EQ(saved["id2label"], Json({{"0", "no"}, {"1", "yes"}}));
  EXPECT_EQ(saved["label2id"], Json({{"no", 0}, {"yes", 1}}));
  EXPECT_EQ(saved["problem_type"], "single_label_classification");
  EXPECT_EQ(saved["finetuning_task"], "mrpc");
  EXPECT_EQ(saved["architectures"], Json::array({"BertForSequenceClassification"}));
  EXPECT_EQ(saved["torch_dtype"], "float32");
  EXPECT_EQ(saved["transformers_version"], "4.2.0");
  EXPECT_EQ(saved["num_labels"], 2);
  EXPECT_EQ(saved["_name_or_path"], "dir/model");
}

TEST(ModelConfigTest, RegressionHasOneDefaultLabel) {
  data::LabelSpec labels;
  labels.problem = ProblemType::kRegression;
  labels.outputs = 1;
  Json saved;
  AddLabels(labels, "", &saved);
  AddProblemType(labels.problem, &saved);
  EXPECT_EQ(saved["id2label"], Json({{"0", "LABEL_0"}}));
  EXPECT_EQ(saved["problem_type"], "regression");
  EXPECT_FALSE(saved.contains("finetuning_task"));
}

TEST(ModelConfigTest, ContradictingProblemTypeIsAnError) {
  const Json config = Json::parse(R"({"problem_type": "regression"})");
  EXPECT_NO_THROW(CheckProblemType(config, "config.json", ProblemType::kRegression));
  EXPECT_NO_THROW(
      CheckProblemType(Json::parse(R"({"problem_type": null})"), "c", ProblemType::kSingleLabel));
  EXPECT_THROW(CheckProblemType(config, "config.json", ProblemType::kSingleLabel), Error);
}

}  // namespace
}  // namespace hagane::cli
