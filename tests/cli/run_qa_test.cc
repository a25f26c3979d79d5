// Whole runs of run_qa on a tiny model: what they print and what they leave behind.
#include <gtest/gtest.h>

#include "cli/flag.h"
#include "tests/cli/tiny_questions.h"

namespace hagane::cli {
namespace {

using io::Contains;
using io::ReadAll;

TEST(RunQaTest, TrainsEvaluatesAndPredicts) {
  const TinyQuestions run;
  const Outcome outcome =
      RunProgram(run.QaTraining() + Args{"--do_eval", "--do_predict", "--use_ipex", "--no_cuda"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.err, "accepted: --no_cuda"));
  EXPECT_TRUE(Contains(outcome.err, "data: train: 6 questions, 6 windows"));
  EXPECT_TRUE(Contains(outcome.err, "hagane run_qa --model_name_or_path"));
  EXPECT_TRUE(Contains(outcome.err, "AutoModelForQuestionAnswering"));
  EXPECT_TRUE(Contains(outcome.out, "***** eval metrics *****\n"));
  EXPECT_TRUE(Contains(outcome.out, "***** predict metrics *****\n"));
  const auto eval = run.Json("out/eval_results.json");
  EXPECT_EQ(eval["eval_exact_match"], 100.0);
  EXPECT_EQ(eval["eval_f1"], 100.0);
  EXPECT_EQ(eval["eval_samples"], 6);
  EXPECT_FALSE(eval.contains("eval_loss"));
  // A test file without answers has its answers and its speed, no scores.
  const auto predict = run.Json("out/predict_results.json");
  EXPECT_EQ(predict["predict_samples"], 6);
  EXPECT_TRUE(predict.contains("test_runtime"));
  EXPECT_FALSE(predict.contains("test_f1"));
  EXPECT_EQ(ReadAll(run.Path("out/predict_predictions.json")),
            "{\n    \"q0\": \"day\",\n    \"q1\": \"night\",\n    \"q2\": \"red\",\n"
            "    \"q3\": \"blue\",\n    \"q4\": \"hot\",\n    \"q5\": \"cold\"\n}\n");
  EXPECT_EQ(ReadAll(run.Path("out/eval_predictions.json")),
            ReadAll(run.Path("out/predict_predictions.json")));
  const auto best = run.Json("out/eval_nbest_predictions.json")["q0"];
  EXPECT_EQ(best[0]["text"], "day");
  EXPECT_GT(best[0]["probability"], 0.5);
  EXPECT_FALSE(std::filesystem::exists(run.Path("out/eval_null_odds.json")));
  const auto config = run.Json("out/config.json");
  EXPECT_EQ(config["architectures"], nlohmann::json::array({"BertForQuestionAnswering"}));
  EXPECT_FALSE(config.contains("problem_type"));
  EXPECT_TRUE(Contains(ReadAll(run.Path("out/README.md")), "eval_f1: 100.0"));
}

// As the official 2.0 test sets without their answers.
TEST(RunQaTest, EmptyAnswersArePredictedAndRefusedInAVersion1Evaluation) {
  const TinyQuestions run;
  run.folder().Write("empty.json", R"([{"id": "x", "context": "the bad", "question": "the good",
                                        "answers": {"text": [], "answer_start": []}}])");
  const Outcome predicted =
      RunProgram(run.QaBase() + Args{"--do_predict", "--test_file", run.Path("empty.json")});
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_FALSE(run.Json("out/predict_results.json").contains("test_f1"));
  const Outcome refused =
      RunProgram(run.QaShort() + Args{"--do_eval", "--validation_file", run.Path("empty.json")});
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(Contains(refused.err, "no answers to evaluate with"));
  EXPECT_FALSE(Contains(refused.out, "train metrics"));
}

TEST(RunQaTest, SavedModelAnswersAlone) {
  const TinyQuestions run;
  ASSERT_EQ(RunProgram(run.QaTraining() + Args{"--do_eval"}).code, 0);
  const Outcome alone =
      RunProgram({"run_qa", "--model_name_or_path", run.Path("out"), "--validation_file",
                  run.Path("dev.json"), "--do_eval", "--max_seq_length", "24", "--doc_stride", "4",
                  "--output_dir", run.Path("again"), "--json"});
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_FALSE(Contains(alone.err, "newly initialized"));
  EXPECT_EQ(ReadAll(run.Path("again/eval_nbest_predictions.json")),
            ReadAll(run.Path("out/eval_nbest_predictions.json")));
  const auto json = io::ParseJson(alone.out, "stdout", io::kConfigLimits);
  EXPECT_EQ(json["eval"]["eval_f1"], 100.0);
  EXPECT_FALSE(json["eval"].contains("epoch"));
  EXPECT_EQ(json["predictions"][0], run.Path("again/eval_predictions.json"));
}

TEST(RunQaTest, Version2CountsQuestionsWithoutAnswer) {
  const TinyQuestions run;
  run.folder().Write("v2.json", R"({"version": "v2.0", "data": [{"paragraphs": [
      {"context": "the good day", "qas": [
        {"id": "a", "question": "good", "is_impossible": false,
         "answers": [{"text": "day", "answer_start": 9}]},
        {"id": "b", "question": "hot", "is_impossible": true, "answers": []}]}]}]})");
  const Args files = {"--train_file", run.Path("v2.json"), "--validation_file",
                      run.Path("v2.json")};
  const Args train = run.QaTraining() + files + Args{"--do_eval", "--num_train_epochs", "100"};
  const Outcome outcome = RunProgram(train + Args{"--version_2_with_negative"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.out, "  eval_NoAns_total        =          1\n"));
  const auto eval = run.Json("out/eval_results.json");
  EXPECT_EQ(eval["eval_exact"], 100.0);
  EXPECT_EQ(eval["eval_total"].dump(), "2");
  EXPECT_EQ(run.Json("out/eval_predictions.json"), (nlohmann::json{{"a", "day"}, {"b", ""}}));
  const auto odds = run.Json("out/eval_null_odds.json");
  EXPECT_LT(odds["a"], 0.0);
  EXPECT_GT(odds["b"], 0.0);
  // Without the flag every question must be answered, and the run says so.
  const Outcome version_1 = RunProgram(run.QaShort() + files + Args{"--overwrite_output_dir"});
  ASSERT_EQ(version_1.code, 0) << version_1.err;
  EXPECT_TRUE(Contains(version_1.err, "without --version_2_with_negative"));
}

TEST(RunQaTest, NullThresholdTurnsAnswersIntoNone) {
  const TinyQuestions run;
  ASSERT_EQ(RunProgram(run.QaTraining()).code, 0);
  const Args predict = {"run_qa",
                        "--model_name_or_path",
                        run.Path("out"),
                        "--test_file",
                        run.Path("test.json"),
                        "--do_predict",
                        "--output_dir",
                        run.Path("again"),
                        "--version_2_with_negative",
                        "--doc_stride",
                        "4",
                        "--max_seq_length",
                        "24"};
  ASSERT_EQ(RunProgram(predict).code, 0);
  EXPECT_EQ(run.Json("again/predict_predictions.json")["q0"], "day");
  ASSERT_EQ(RunProgram(predict + Args{"--null_score_diff_threshold", "-1000"}).code, 0);
  EXPECT_EQ(run.Json("again/predict_predictions.json")["q0"], "");
}

TEST(RunQaTest, BestModelIsChosenByF1) {
  const TinyQuestions run;
  const Args best = {
      "--eval_strategy",    "epoch", "--save_strategy", "epoch", "--load_best_model_at_end",
      "--num_train_epochs", "4"};
  const Outcome outcome =
      RunProgram(run.QaTraining() + best + Args{"--metric_for_best_model", "f1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.out, "{'eval_exact_match': "));
  EXPECT_TRUE(Contains(outcome.err, "Loading best model from"));
  const auto state = run.Json("out/trainer_state.json");
  double highest = 0;
  for (const auto& entry : state["log_history"]) {
    if (entry.contains("eval_f1")) highest = std::max(highest, entry["eval_f1"].get<double>());
  }
  EXPECT_EQ(state["best_metric"], highest);
  EXPECT_EQ(run.Json("out/eval_results.json")["eval_f1"], highest);
}

TEST(RunQaTest, ResumingInMidEpochGivesTheSameBits) {
  const TinyQuestions run;
  ExpectSameBitsAfterResuming(run, run.QaBase());
}

TEST(RunQaTest, EndedRunIsNotContinued) {
  const TinyQuestions run;
  const Args args = run.QaShort() + Args{"--do_eval", "--do_predict", "--overwrite_output_dir"};
  ASSERT_EQ(RunProgram(args).code, 0);
  const Outcome again = RunProgram(args);
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_FALSE(Contains(again.err, "continuing the unfinished run")) << again.err;
}

TEST(RunQaTest, ExampleFilesAreRead) {
  const TinyQuestions run;
  const std::filesystem::path examples =
      std::filesystem::path(HAGANE_SOURCE_DIR) / "examples/questions";
  const Outcome outcome = RunProgram(
      run.QaShort() + Args{"--train_file", (examples / "train.json").string(), "--validation_file",
                           (examples / "validation.json").string(), "--test_file",
                           (examples / "test.json").string(), "--do_eval", "--do_predict",
                           "--version_2_with_negative", "--max_seq_length", "32"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(Contains(outcome.err, "answer_start")) << outcome.err;
  EXPECT_EQ(run.Json("out/predict_predictions.json").size(),
            run.Json("out/eval_predictions.json").size());
}

TEST(RunQaTest, SampleLimitsCutExamplesAndThenWindows) {
  const TinyQuestions run;
  // 18 tokens of context in windows of 24 - 3 - 2 = 19 fit; of 12 - 3 - 2 = 7 they make several.
  run.folder().Write("long.json", R"({"data": [{"id": "a", "question": "the good", "context":
      "a b c a b c a b c a b c a b c a good day", "answers": {"text": ["day"], "answer_start": [37]}},
      {"id": "b", "question": "the good", "context": "good night",
       "answers": {"text": ["night"], "answer_start": [5]}}]})");
  const Args args = run.QaShort() + Args{"--train_file",      run.Path("long.json"),
                                         "--validation_file", run.Path("long.json"),
                                         "--max_seq_length",  "12",
                                         "--doc_stride",      "3",
                                         "--do_eval"};
  ASSERT_EQ(RunProgram(args).code, 0);
  const int64_t windows = run.Json("out/all_results.json")["eval_samples"];
  EXPECT_GT(windows, 3);
  ASSERT_EQ(RunProgram(args + Args{"--max_train_samples", "1", "--max_eval_samples", "2",
                                   "--overwrite_output_dir"})
                .code,
            0);
  EXPECT_EQ(run.Json("out/all_results.json")["train_samples"], 1);
  EXPECT_EQ(run.Json("out/all_results.json")["eval_samples"], 2);
  EXPECT_EQ(run.Json("out/eval_predictions.json").size(), 2u);
}

TEST(RunQaTest, Bf16RunsAndSavesFloat32) {
  const TinyQuestions run;
  ASSERT_EQ(RunProgram(run.QaShort() + Args{"--bf16", "--do_eval"}).code, 0);
  EXPECT_TRUE(run.Json("out/eval_results.json").contains("eval_f1"));
  EXPECT_EQ(run.Json("out/config.json")["torch_dtype"], "float32");
}

TEST(RunQaTest, DryRunWritesNothing) {
  const TinyQuestions run;
  const Outcome outcome = RunProgram(run.QaShort() + Args{"--do_eval", "--dry_run", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(run.Path("out")));
  const auto json = io::ParseJson(outcome.out, "stdout", io::kConfigLimits);
  EXPECT_GT(json["memory_bytes"], 16.0 * json["parameters"].get<double>());
}

TEST(RunQaTest, PrintConfigHasTheReferencesDefaults) {
  const Outcome outcome = RunProgram({"run_qa", "--model_name_or_path", "m", "--output_dir", "o",
                                      "--train_file", "t.json", "--do_train", "--print_config"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto config = io::ParseJson(outcome.out, "stdout", io::kConfigLimits);
  EXPECT_EQ(config["max_seq_length"], 384);
  EXPECT_EQ(config["doc_stride"], 128);
  EXPECT_EQ(config["n_best_size"], 20);
  EXPECT_EQ(config["max_answer_length"], 30);
  EXPECT_EQ(config["null_score_diff_threshold"], 0.0);
  EXPECT_EQ(config["version_2_with_negative"], false);
}

TEST(RunQaTest, DatasetNameTakesJsonFilesOfTheHubCache) {
  const TinyQuestions run;
  const Args base = {"run_qa",
                     "--model_name_or_path",
                     run.Path("model"),
                     "--output_dir",
                     run.Path("out"),
                     "--init_from_scratch",
                     "--do_eval",
                     "--max_seq_length",
                     "24",
                     "--doc_stride",
                     "4",
                     "--dataset_name",
                     "squad",
                     "--cache_dir",
                     run.Path("hub")};
  const Outcome missing = RunProgram(base);
  EXPECT_EQ(missing.code, 1);
  EXPECT_TRUE(Contains(missing.err, "--dataset_name squad: there is no such data set"));
  EXPECT_TRUE(Contains(missing.err, "dev-v1.1.json"));

  const std::string snapshot = "hub/datasets--rajpurkar--squad/snapshots/" + std::string(40, 'a');
  run.folder().Write("hub/datasets--rajpurkar--squad/refs/main", std::string(40, 'a'));
  run.folder().Write(snapshot + "/plain_text/validation-00000-of-00001.parquet", "PAR1");
  const Outcome parquet = RunProgram(base);
  EXPECT_EQ(parquet.code, 1);
  EXPECT_TRUE(Contains(parquet.err, "parquet cannot be read yet"));

  run.folder().Write(snapshot + "/dev-v1.1.json", ReadAll(run.Path("dev.json")));
  const Outcome found = RunProgram(base);
  ASSERT_EQ(found.code, 0) << found.err;
  EXPECT_EQ(run.Json("out/eval_results.json")["eval_samples"], 6);
}

TEST(RunQaTest, HelpShowsTheFlagsThatMatter) {
  const Outcome outcome = RunProgram({"run_qa", "--help"});
  EXPECT_EQ(outcome.code, 0);
  for (const char* flag : {"--doc_stride", "--version_2_with_negative", "--max_seq_length"}) {
    EXPECT_TRUE(Contains(outcome.out, flag));
  }
  const Outcome all = RunProgram({"run_qa", "--help_all"});
  for (const Flag& flag : RunQaFlags()) {
    EXPECT_TRUE(Contains(all.out, ("  --" + flag.name).c_str())) << flag.name;
  }
}

// The reference's own smoke test of run_qa, with the tiny model in place of BERT: all of it but
// the score.
TEST(RunQaTest, ReferencesSampleRuns) {
  const auto sample = io::SharedDir() / "data/fixtures/hf-samples/SQUAD/sample.json";
  if (!std::filesystem::exists(sample)) GTEST_SKIP() << sample << " is not there";
  const TinyQuestions run;
  const Outcome outcome = RunProgram(
      run.QaBase() + Args{"--train_file", sample.string(), "--validation_file", sample.string(),
                          "--version_2_with_negative", "--do_train", "--do_eval", "--max_steps",
                          "10", "--warmup_steps", "2", "--learning_rate", "2e-4",
                          "--per_device_train_batch_size", "2", "--per_device_eval_batch_size", "1",
                          "--max_seq_length", "32"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(run.Json("out/eval_results.json")["eval_total"], 14);
}

}  // namespace
}  // namespace hagane::cli
