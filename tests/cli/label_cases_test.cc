// Public cases about tables and labels, end to end.
#include <gtest/gtest.h>

#include <cstring>

#include "io/tensor_file.h"
#include "tests/cli/tiny_model.h"

namespace hagane::cli {
namespace {

using io::Contains;
using io::ReadAll;
using Json = nlohmann::json;

class LabelCasesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Cases())) GTEST_SKIP() << "no folder " << Cases();
  }
  static std::filesystem::path Cases() { return io::SharedDir() / "cases"; }
  static std::string Case(const std::string& name) { return (Cases() / name).string(); }

  // Trains one step on `train` and evaluates it.
  Outcome Train(const std::string& train, const Args& more = {}) {
    return RunProgram(Args{"run_glue", "--model_name_or_path", run_.Path("model"),
                           "--init_from_scratch", "--train_file", train, "--validation_file", train,
                           "--do_train", "--do_eval", "--max_steps", "1", "--output_dir",
                           run_.Path("out")} +
                      more);
  }

  TinyRun run_;
};

TEST_F(LabelCasesTest, BL07StrayQuotesNeitherJoinNorSplitRows) {
  Outcome outcome = Train(Case("BL-07-stray-quotes-in-tsv/train.tsv"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(run_.Json("out/all_results.json")["train_samples"], 5);
  outcome = Train(Case("BL-07-stray-quotes-in-tsv/train.csv"), {"--overwrite_output_dir"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(run_.Json("out/all_results.json")["train_samples"], 2);
}

TEST_F(LabelCasesTest, BL08SpreadsheetFilesAreRead) {
  const Outcome outcome =
      Train(Case("BL-08-bom-and-crlf-csv/train.csv"),
            {"--validation_file", Case("BL-08-bom-and-crlf-csv/validation.json")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(run_.Json("out/all_results.json")["train_samples"], 2);
  EXPECT_EQ(run_.Json("out/all_results.json")["eval_samples"], 2);
}

TEST_F(LabelCasesTest, BL10DecimalsAreARegression) {
  const Outcome outcome = Train(Case("BL-10-regression-or-classes/float.csv"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(run_.Json("out/eval_results.json").contains("eval_mse"));
  const Json config = run_.Json("out/config.json");
  EXPECT_EQ(config["problem_type"], "regression");
  EXPECT_EQ(config["id2label"].size(), 1u);
}

TEST_F(LabelCasesTest, BL10WholeNumbersAreClasses) {
  const Outcome outcome = Train(Case("BL-10-regression-or-classes/int.csv"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(run_.Json("out/config.json")["label2id"], (Json{{"0", 0}, {"3", 1}, {"5", 2}}));
}

TEST_F(LabelCasesTest, BL10NumbersAsStringsAreClassesWithAWarning) {
  const Outcome outcome = Train(Case("BL-10-regression-or-classes/strings.json"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(run_.Json("out/config.json")["label2id"], (Json{{"0.0", 0}, {"3.5", 1}, {"5.0", 2}}));
  EXPECT_TRUE(Contains(outcome.err, "warning: "));
  EXPECT_TRUE(Contains(outcome.err, "numbers"));
}

TEST_F(LabelCasesTest, BL11LabelsWithGapsAreNumberedInOrderAndPredictedByName) {
  const Outcome outcome =
      Train(Case("BL-11-labels-from-one-with-gaps/train.csv"),
            {"--do_predict", "--test_file", Case("BL-11-labels-from-one-with-gaps/test.csv")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(run_.Json("out/config.json")["label2id"], (Json{{"1", 0}, {"2", 1}, {"10", 2}}));
  std::istringstream lines(ReadAll(run_.Path("out/predict_results_None.txt")));
  std::string line;
  std::getline(lines, line);
  int rows = 0;
  for (; std::getline(lines, line); ++rows) {
    const std::string label = line.substr(line.find('\t') + 1);
    EXPECT_TRUE(label == "1" || label == "2" || label == "10") << line;
  }
  EXPECT_EQ(rows, 2);
}

TEST_F(LabelCasesTest, BL12TestFilesNeedNoLabels) {
  for (const char* test : {"test_minus1.csv", "test_nocol.csv"}) {
    const Outcome outcome =
        Train(Case("BL-12-test-without-labels/train.csv"),
              {"--do_predict", "--test_file", Case("BL-12-test-without-labels/") + test,
               "--overwrite_output_dir"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const std::string text = ReadAll(run_.Path("out/predict_results_None.txt"));
    EXPECT_EQ(text.rfind("index\tprediction\n0\t", 0), 0u) << text;
    EXPECT_TRUE(Contains(text, "\n1\t"));
    EXPECT_FALSE(Contains(outcome.out, "predict metrics"));
  }
}

TEST_F(LabelCasesTest, BL14OwnLabelsReplaceTheModels) {
  Json config = Json::parse(kTinyConfig);
  config.update(Json(io::ReadJsonFile(Case("BL-14-config-labels-differ/config-mnli-order.json"),
                                      io::kConfigLimits)));
  run_.folder().Write("model/config.json", config.dump());
  const Outcome outcome = Train(Case("BL-14-config-labels-differ/train.csv"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(run_.Json("out/config.json")["label2id"], (Json{{"no", 0}, {"yes", 1}}));
  EXPECT_FALSE(Contains(ReadAll(run_.Path("out/config.json")), "NEUTRAL"));
  EXPECT_TRUE(Contains(outcome.err, "the data's are used"));
}

// A model that lists the same classes in another order (and case) must give the same results.
TEST_F(LabelCasesTest, BL14GlueLabelsAreMappedByName) {
  std::string rows = "index\tsentence1\tsentence2\tlabel\n";
  for (int i = 0; i < 6; ++i) {
    rows += std::to_string(i) +
            (i % 3 == 0 ? "\tgood\tday\tentailment\n" : "\tbad\tday\tnot_entailment\n");
  }
  for (const char* name : {"train", "dev", "test"}) {
    run_.folder().Write("RTE/" + std::string(name) + ".tsv", rows);
  }
  const Args task = {"--task_name", "rte", "--data_dir", run_.Path("RTE"), "--do_eval"};
  const Outcome trained =
      RunProgram(Args{"run_glue", "--model_name_or_path", run_.Path("model"), "--init_from_scratch",
                      "--do_train", "--max_steps", "2", "--output_dir", run_.Path("out")} +
                 task);
  ASSERT_EQ(trained.code, 0) << trained.err;

  std::filesystem::copy(run_.Path("out/vocab.txt"),
                        run_.folder().Write("swapped/x", "").parent_path());
  Json config = run_.Json("out/config.json");
  config["label2id"] = {{"NOT_ENTAILMENT", 0}, {"Entailment", 1}};
  config["id2label"] = {{"0", "NOT_ENTAILMENT"}, {"1", "Entailment"}};
  run_.folder().Write("swapped/config.json", config.dump());
  const auto file = io::OpenSafetensors(run_.Path("out/model.safetensors"));
  std::vector<io::TensorToWrite> tensors;
  std::vector<std::vector<std::byte>> owned;
  for (const auto& [name, tensor] : file->tensors()) {
    owned.emplace_back(tensor.bytes.begin(), tensor.bytes.end());
    if (name.starts_with("classifier.")) {
      const auto middle =
          owned.back().begin() + static_cast<std::ptrdiff_t>(owned.back().size() / 2);
      std::rotate(owned.back().begin(), middle, owned.back().end());
    }
  }
  size_t i = 0;
  for (const auto& [name, tensor] : file->tensors()) {
    tensors.push_back({name, tensor.dtype, tensor.shape, owned[i++]});
  }
  io::WriteSafetensors(run_.Path("swapped/model.safetensors"), tensors, {{"format", "pt"}});
  const Outcome swapped = RunProgram(Args{"run_glue", "--model_name_or_path", run_.Path("swapped"),
                                          "--output_dir", run_.Path("eval")} +
                                     task);
  ASSERT_EQ(swapped.code, 0) << swapped.err;
  EXPECT_EQ(run_.Json("eval/eval_results.json")["eval_accuracy"],
            run_.Json("out/eval_results.json")["eval_accuracy"]);
  EXPECT_NEAR(run_.Json("eval/eval_results.json")["eval_loss"].get<double>(),
              run_.Json("out/eval_results.json")["eval_loss"].get<double>(), 1e-6);
}

TEST_F(LabelCasesTest, BL28ShortAccumulationGroupsAreUpdatesOfTheirOwn) {
  const std::string train = Case("BL-28-accumulation-tail/train.csv");
  const Json expected =
      io::ReadJsonFile(Case("BL-28-accumulation-tail/expected.json"), io::kConfigLimits);
  const Outcome outcome =
      Train(train, {"--max_steps", "-1", "--num_train_epochs", "3", "--per_device_train_batch_size",
                    "2", "--gradient_accumulation_steps", "2", "--learning_rate", "1e-3",
                    "--logging_steps", "1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json state = run_.Json("out/trainer_state.json");
  EXPECT_EQ(state["global_step"], 9);
  EXPECT_EQ(state["epoch"], 3.0);
  const Json& rates = expected["lr used at updates 1..9 (linear, no warm-up, 1e-3)"];
  // An entry holds the rate of the next update.
  for (size_t i = 0; i + 1 < rates.size(); ++i) {
    EXPECT_NEAR(state["log_history"][i]["learning_rate"].get<double>(), rates[i + 1].get<double>(),
                1e-9);
  }
}

}  // namespace
}  // namespace hagane::cli
