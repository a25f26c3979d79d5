// Whole runs on a tiny model: what they print and what they leave behind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "io/tensor_file.h"
#include "tests/cli/tiny_model.h"

namespace hagane::cli {
namespace {

using io::Contains;
using io::ReadAll;

TEST(RunGlueTest, TrainsEvaluatesAndPredicts) {
  const TinyRun run;
  const Outcome outcome = RunProgram(
      run.Base() + Args{"--do_train", "--do_eval", "--do_predict", "--test_file",
                        run.Path("test.csv"), "--num_train_epochs", "30", "--learning_rate", "1e-2",
                        "--per_device_train_batch_size", "3", "--logging_steps", "20"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.out, "{'loss': "));
  EXPECT_TRUE(Contains(outcome.out, "***** train metrics *****\n  epoch "));
  EXPECT_TRUE(Contains(outcome.out, "***** eval metrics *****\n"));
  EXPECT_TRUE(Contains(outcome.err, "***** Running training *****"));
  EXPECT_TRUE(Contains(outcome.err, "useful GFLOP/s"));
  EXPECT_EQ(ReadAll(run.Path("out/predict_results_None.txt")),
            "index\tprediction\n0\tyes\n1\tno\n");
  const auto all = run.Json("out/all_results.json");
  EXPECT_EQ(all["eval_accuracy"], 1.0);
  EXPECT_EQ(all["train_samples"], 6);
  EXPECT_EQ(all["eval_samples"], 6);
  EXPECT_EQ(all["epoch"], 30.0);
  const auto config = run.Json("out/config.json");
  EXPECT_EQ(config["label2id"], (nlohmann::json{{"no", 0}, {"yes", 1}}));
  EXPECT_EQ(config["problem_type"], "single_label_classification");
  for (const char* file : {"model.safetensors", "vocab.txt", "trainer_state.json", "run_args.json",
                           "train_results.json", "eval_results.json", "README.md"}) {
    EXPECT_TRUE(std::filesystem::exists(run.Path("out") + "/" + file)) << file;
  }
  EXPECT_EQ(run.Json("out/trainer_state.json")["log_history"].size(), 3u + 1u);
}

TEST(RunGlueTest, SavedArgumentsRepeatTheRun) {
  const TinyRun run;
  ASSERT_EQ(RunProgram(run.Training()).code, 0);
  const std::string first = ReadAll(run.Path("out/model.safetensors"));
  std::filesystem::copy(run.Path("out/run_args.json"), run.Path("args.json"));
  std::filesystem::remove_all(run.Path("out"));
  const Outcome again = RunProgram({"run_glue", run.Path("args.json")});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(ReadAll(run.Path("out/model.safetensors")), first);
}

TEST(RunGlueTest, ResumingInMidEpochGivesTheSameBits) {
  const TinyRun run;
  ExpectSameBitsAfterResuming(run, run.Base());
}

TEST(RunGlueTest, EvaluationAloneUsesTheSavedHead) {
  const TinyRun run;
  ASSERT_EQ(RunProgram(run.Training() + Args{"--do_eval"}).code, 0);
  const auto trained = run.Json("out/eval_results.json");
  const Outcome alone = RunProgram(
      {"run_glue", "--model_name_or_path", run.Path("out"), "--train_file", run.Path("train.csv"),
       "--validation_file", run.Path("dev.csv"), "--do_eval", "--output_dir", run.Path("eval")});
  ASSERT_EQ(alone.code, 0) << alone.err;
  const auto evaluated = run.Json("eval/eval_results.json");
  EXPECT_EQ(evaluated["eval_loss"], trained["eval_loss"]);
  EXPECT_FALSE(evaluated.contains("epoch"));
  EXPECT_FALSE(Contains(alone.err, "newly initialized"));
}

TEST(RunGlueTest, JsonModePrintsOneObject) {
  const TinyRun run;
  const Outcome outcome = RunProgram(run.Training() + Args{"--do_eval", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = io::ParseJson(outcome.out, "stdout", io::kConfigLimits);
  EXPECT_TRUE(json["train"].contains("train_loss"));
  EXPECT_TRUE(json["eval"].contains("eval_accuracy"));
  EXPECT_EQ(json["output_dir"], run.Path("out"));
  EXPECT_TRUE(Contains(outcome.err, "***** train metrics *****"));
}

TEST(RunGlueTest, DryRunWritesNothing) {
  const TinyRun run;
  const Outcome outcome = RunProgram(run.Training() + Args{"--dry_run", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(run.Path("out")));
  const auto json = io::ParseJson(outcome.out, "stdout", io::kConfigLimits);
  EXPECT_GT(json["memory_bytes"], 16.0 * json["parameters"].get<double>());
}

TEST(RunGlueTest, PrintConfigPrintsAndStops) {
  const TinyRun run;
  const Outcome outcome = RunProgram(run.Training() + Args{"--print_config"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_FALSE(std::filesystem::exists(run.Path("out")));
  EXPECT_EQ(io::ParseJson(outcome.out, "stdout", io::kConfigLimits)["max_steps"], 3);
}

TEST(RunGlueTest, Bf16RunsAndSavesFloat32) {
  const TinyRun run;
  ASSERT_EQ(RunProgram(run.Training() + Args{"--bf16", "--do_eval"}).code, 0);
  const auto file = io::OpenSafetensors(run.Path("out/model.safetensors"));
  for (const auto& [name, tensor] : file->tensors())
    EXPECT_EQ(tensor.dtype, io::DType::kF32) << name;
}

TEST(RunGlueTest, Bf16FullEvalChangesTheEvaluationOnly) {
  const TinyRun run;
  ASSERT_EQ(RunProgram(run.Training() + Args{"--do_eval"}).code, 0);
  const std::string weights = ReadAll(run.Path("out/model.safetensors"));
  const double fp32 = run.Json("out/eval_results.json")["eval_loss"];
  const Outcome outcome =
      RunProgram(run.Training() + Args{"--do_eval", "--bf16_full_eval", "--overwrite_output_dir"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(ReadAll(run.Path("out/model.safetensors")), weights);
  const double bf16 = run.Json("out/eval_results.json")["eval_loss"];
  EXPECT_NE(bf16, fp32);
  EXPECT_NEAR(bf16, fp32, 2e-2);
}

TEST(RunGlueTest, MnliHasASecondEvaluationAndPrediction) {
  const TinyRun run;
  const std::string columns =
      "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\t"
      "sentence1_parse\tsentence2_parse\tsentence1\tsentence2";
  const auto row = [](int i, const std::string& a, const std::string& end) {
    return std::to_string(i) + "\t0\t0\tg\tx\tx\tx\tx\t" + a + "\tday" + end + "\n";
  };
  const std::string train = columns + "\tlabel1\tgold_label\n" + row(0, "good", "\tx\tentailment") +
                            row(1, "bad", "\tx\tcontradiction") + row(2, "red", "\tx\tneutral");
  const std::string dev = columns + "\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label\n" +
                          row(0, "good", "\tx\tx\tx\tx\tx\tentailment") +
                          row(1, "bad", "\tx\tx\tx\tx\tx\tcontradiction");
  const std::string test = columns + "\n" + row(0, "good", "") + row(1, "blue", "");
  run.folder().Write("MNLI/train.tsv", train);
  for (const char* set : {"matched", "mismatched"}) {
    run.folder().Write(std::string("MNLI/dev_") + set + ".tsv", dev);
    run.folder().Write(std::string("MNLI/test_") + set + ".tsv", test);
  }
  const Outcome outcome =
      RunProgram({"run_glue", "--model_name_or_path", run.Path("model"), "--init_from_scratch",
                  "--task_name", "MNLI", "--data_dir", run.Path("MNLI"), "--do_train", "--do_eval",
                  "--do_predict", "--max_steps", "1", "--output_dir", run.Path("out")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto results = run.Json("out/eval_results.json");
  for (const char* key : {"eval_accuracy", "eval_accuracy_mm", "eval_loss_mm", "epoch_mm",
                          "eval_samples_mm", "eval_runtime_mm"}) {
    EXPECT_TRUE(results.contains(key)) << key;
  }
  EXPECT_TRUE(Contains(outcome.out, "  eval_accuracy_mm "));
  EXPECT_TRUE(std::filesystem::exists(run.Path("out/predict_results_mnli.txt")));
  EXPECT_TRUE(std::filesystem::exists(run.Path("out/predict_results_mnli-mm.txt")));
  EXPECT_EQ(run.Json("out/config.json")["finetuning_task"], "mnli");
}

// Stopped and started again by a signal: a child process, for a signal reaches all of one.
TEST(RunGlueTest, SignalSavesAndTheSameCommandGoesOn) {
  const TinyRun run;
  const Args args = run.Base() + Args{"--do_train", "--max_steps", "100000", "--threads", "1"};
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // exec'd fresh: OpenMP does not survive a fork.
    std::vector<char*> words{const_cast<char*>(HAGANE_PROGRAM)};
    for (const std::string& word : args) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execv(HAGANE_PROGRAM, words.data());
    _exit(127);
  }
  // Training has begun when its first checkpoint is there.
  for (int i = 0; i < 600 && !std::filesystem::exists(run.Path("out/checkpoint-500")); ++i)
    usleep(100000);
  kill(child, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 75);
  EXPECT_FALSE(std::filesystem::exists(run.Path("out/model.safetensors")));

  int64_t newest = 0;
  for (const auto& entry : std::filesystem::directory_iterator(run.Path("out"))) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("checkpoint-"))
      newest = std::max<int64_t>(newest, std::stoll(name.substr(11)));
  }
  const Outcome resumed = RunProgram(
      args + Args{"--max_steps", std::to_string(newest + 1), "--resume_despite_changes"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(
      Contains(resumed.err, "Continuing training from global step " + std::to_string(newest)));
}

TEST(TokenizeTest, ReadsAFileAndPrintsTheSpecialTokensToo) {
  const TinyRun run;
  run.folder().Write("texts.jsonl", "{\"text\": \"good day\"}\n{\"a\": \"bad\", \"b\": \"day\"}\n");
  const Outcome outcome =
      RunProgram({"tokenize", "--model", run.Path("model"), "--input", run.Path("texts.jsonl")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.out, "\"ids\": [2, 5, 7, 3]"));
  EXPECT_TRUE(Contains(outcome.out, "\"ids\": [2, 6, 3, 7, 3]"));
  EXPECT_TRUE(Contains(outcome.out, "\"token_type_ids\": [0, 0, 0, 1, 1]"));
}

TEST(RunGlueTest, LabelSmoothingLeavesProblemTypeUnset) {
  const TinyRun run;
  ASSERT_EQ(RunProgram(run.Training() + Args{"--label_smoothing_factor", "0.1"}).code, 0);
  EXPECT_FALSE(run.Json("out/config.json").contains("problem_type"));
}

}  // namespace
}  // namespace hagane::cli
