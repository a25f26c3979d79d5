#include "cli/run_arguments.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "cli/glue_task.h"

namespace hagane::cli {
namespace {

using Args = std::vector<std::string>;

class KeptLog : public Log {
 public:
  void Info(const std::string&) override {}
  void Warning(const std::string& line) override { warnings.push_back(line); }
  std::vector<std::string> warnings;
};

Args Minimal(const Args& more) {
  Args args{"--model_name_or_path", "m",     "--output_dir", "o", "--train_file", "t.csv",
            "--validation_file",    "v.csv", "--do_train"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

RunArguments Make(const Args& args, Log* log = nullptr) {
  NullLog null;
  const ParsedFlags flags = ParseFlags(RunGlueFlags(), args, "hagane run_glue");
  RunArguments arguments = MakeRunArguments(flags, log == nullptr ? null : *log);
  MakeGlueOptions(flags, arguments);
  return arguments;
}

GlueOptions MakeGlue(const Args& args) {
  NullLog log;
  const ParsedFlags flags = ParseFlags(RunGlueFlags(), args, "hagane run_glue");
  return MakeGlueOptions(flags, MakeRunArguments(flags, log));
}

std::string ErrorOf(const Args& args) {
  try {
    Make(args);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return std::string(error.what()) + "|" + error.hint();
  }
  return "no error";
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(RunArgumentsTest, ValuesReachTheirStructs) {
  const RunArguments arguments =
      Make(Minimal({"--per_device_train_batch_size", "32", "--learning_rate", "2e-5",
                    "--weight_decay", "0.01", "--warmup_ratio", "0.1", "--lr_scheduler_type",
                    "cosine", "--lr_scheduler_kwargs", "{\"num_cycles\": 2}", "--max_train_samples",
                    "10", "--bf16", "--seed", "7", "--save_total_limit", "2"}));
  EXPECT_EQ(arguments.train.train_batch_size, 32);
  EXPECT_EQ(arguments.train.optimizer.learning_rate, 2e-5);
  EXPECT_EQ(arguments.train.optimizer.weight_decay, 0.01);
  EXPECT_EQ(arguments.train.schedule.warmup_ratio, 0.1);
  EXPECT_EQ(arguments.train.schedule.type, train::ScheduleType::kCosine);
  EXPECT_EQ(arguments.train.schedule.num_cycles, 2);
  EXPECT_EQ(arguments.data.splits.max_train, 10);
  EXPECT_TRUE(arguments.bf16);
  EXPECT_EQ(arguments.train.seed, 7u);
  EXPECT_EQ(arguments.train.save.total_limit, 2);
  EXPECT_EQ(arguments.train.output_dir, "o");
}

TEST(RunArgumentsTest, TheTimeoutBetweenProcessesIsAnUpdates) {
  EXPECT_FALSE(Make(Minimal({})).train.patience.has_value());
  EXPECT_EQ(Make(Minimal({"--ddp_timeout", "7"})).train.patience->seconds, 7);
  EXPECT_TRUE(Contains(ErrorOf(Minimal({"--ddp_timeout", "0"})), "--ddp_timeout"));
}

TEST(RunArgumentsTest, GlueReadsItsOwnFlags) {
  const GlueOptions options =
      MakeGlue(Minimal({"--label_smoothing_factor", "0.1", "--ignore_mismatched_sizes",
                        "--task_name", "rte", "--data_dir", "d"}));
  EXPECT_FLOAT_EQ(options.label_smoothing, 0.1f);
  EXPECT_TRUE(options.ignore_mismatched_sizes);
  EXPECT_EQ(options.data_dir, "d");
}

TEST(RunArgumentsTest, EvaluationDuringTrainingAsksForOneAtTheEnd) {
  EXPECT_FALSE(Make(Minimal({})).do_eval);
  const RunArguments arguments = Make(Minimal({"--eval_strategy", "epoch"}));
  EXPECT_TRUE(arguments.do_eval);
  EXPECT_TRUE(arguments.data.splits.evaluation);
}

TEST(RunArgumentsTest, EvalStepsDefaultToLoggingSteps) {
  EXPECT_EQ(
      Make(Minimal({"--eval_strategy", "steps", "--logging_steps", "20"})).train.evaluation.steps,
      20);
}

TEST(RunArgumentsTest, WarmupStepsBelowOneAreARatio) {
  const auto schedule = Make(Minimal({"--warmup_steps", "0.25"})).train.schedule;
  EXPECT_EQ(schedule.warmup_steps, 0);
  EXPECT_EQ(schedule.warmup_ratio, 0.25);
  EXPECT_EQ(Make(Minimal({"--warmup_steps", "3"})).train.schedule.warmup_steps, 3);
}

TEST(RunArgumentsTest, OldBatchSizeNamesOverride) {
  EXPECT_EQ(Make(Minimal({"--per_gpu_train_batch_size", "4"})).train.train_batch_size, 4);
}

TEST(RunArgumentsTest, BestModelComparesDownwardsForTheLossOnly) {
  const Args best = {"--load_best_model_at_end", "--eval_strategy", "epoch", "--save_strategy",
                     "epoch"};
  EXPECT_EQ(Make(Minimal(best)).train.best.metric, "loss");
  EXPECT_FALSE(Make(Minimal(best)).train.best.greater_is_better);
  Args accuracy = best;
  accuracy.insert(accuracy.end(), {"--metric_for_best_model", "accuracy"});
  EXPECT_TRUE(Make(Minimal(accuracy)).train.best.greater_is_better);
  accuracy.insert(accuracy.end(), {"--greater_is_better", "False"});
  EXPECT_FALSE(Make(Minimal(accuracy)).train.best.greater_is_better);
}

TEST(RunArgumentsTest, BestModelNeedsMatchingStrategies) {
  EXPECT_TRUE(Contains(ErrorOf(Minimal({"--load_best_model_at_end", "--eval_strategy", "epoch"})),
                       "same --eval_strategy"));
  EXPECT_TRUE(Contains(ErrorOf(Minimal({"--load_best_model_at_end", "--eval_strategy", "steps",
                                        "--eval_steps", "30", "--save_steps", "50"})),
                       "multiple"));
  EXPECT_EQ(ErrorOf(Minimal({"--load_best_model_at_end", "--eval_strategy", "steps", "--eval_steps",
                             "25", "--save_steps", "50"})),
            "no error");
}

TEST(RunArgumentsTest, ResumeTrueIsTheLastCheckpoint) {
  EXPECT_EQ(Make(Minimal({"--resume_from_checkpoint", "True"})).output.resume_from, "last");
  EXPECT_EQ(Make(Minimal({"--resume_from_checkpoint", "x/checkpoint-3"})).output.resume_from,
            "x/checkpoint-3");
  EXPECT_EQ(Make(Minimal({"--resume_from_checkpoint", "false"})).output.resume_from, "");
}

TEST(RunArgumentsTest, IgnoredFlagsWarnOnceAndRefusedOnesStop) {
  KeptLog log;
  Make(Minimal({"--report_to", "tensorboard", "--dataloader_num_workers", "4", "--use_ipex",
                "--no_cuda", "--logging_dir", "x"}),
       &log);
  EXPECT_EQ(log.warnings.size(), 3u);
  for (const char* flag : {"report_to", "dataloader_num_workers", "logging_dir"}) {
    int named = 0;
    for (const std::string& line : log.warnings) {
      named += Contains(line, "--" + std::string(flag) + " ") ? 1 : 0;
    }
    EXPECT_EQ(named, 1) << flag;
  }
  for (const Args& refused : std::vector<Args>{{"--fp16"},
                                               {"--deepspeed", "ds"},
                                               {"--push_to_hub"},
                                               {"--trust_remote_code"},
                                               {"--adafactor"},
                                               {"--dataset_name", "imdb"},
                                               {"--fsdp", "full_shard"}}) {
    EXPECT_TRUE(Contains(ErrorOf(Minimal(refused)), refused[0])) << refused[0];
  }
  EXPECT_EQ(ErrorOf(Minimal({"--fp16", "False"})), "no error");
}

TEST(RunArgumentsTest, WhatIsMissingIsNamed) {
  EXPECT_TRUE(Contains(ErrorOf({"--output_dir", "o", "--do_eval"}), "--model_name_or_path"));
  EXPECT_TRUE(Contains(ErrorOf({"--model_name_or_path", "m", "--do_eval"}), "--output_dir"));
  EXPECT_TRUE(
      Contains(ErrorOf({"--model_name_or_path", "m", "--output_dir", "o"}), "nothing to do"));
  EXPECT_TRUE(Contains(ErrorOf({"--model_name_or_path", "m", "--output_dir", "o", "--do_eval",
                                "--validation_file", "v.csv"}),
                       "--train_file"));
  EXPECT_TRUE(Contains(ErrorOf(Minimal({"--do_predict"})), "--test_file"));
  EXPECT_TRUE(Contains(ErrorOf(Minimal({"--data_dir", "d"})), "--task_name"));
}

TEST(RunArgumentsTest, TaskNamesAreLoweredAndCheckedWithTheNearest) {
  EXPECT_EQ(MakeGlue(Minimal({"--task_name", "MRPC"})).task_name, "mrpc");
  EXPECT_TRUE(
      Contains(ErrorOf(Minimal({"--task_name", "mrcp"})), "did you mean --task_name mrpc?"));
}

TEST(RunArgumentsTest, ValuesOutOfRangeAreNamed) {
  for (const Args& wrong : std::vector<Args>{{"--warmup_ratio", "1.5"},
                                             {"--per_device_train_batch_size", "0"},
                                             {"--per_device_train_batch_size", "4294967296"},
                                             {"--gradient_accumulation_steps", "0"},
                                             {"--gradient_accumulation_steps", "4294967296"},
                                             {"--logging_steps", "0"},
                                             {"--adam_beta1", "1"},
                                             {"--label_smoothing_factor", "1"},
                                             {"--max_train_samples", "0"},
                                             {"--num_train_epochs", "0"},
                                             {"--seed", "-1"},
                                             {"--threads", "-2"},
                                             {"--learning_rate", "-1e-5"},
                                             {"--max_seq_length", "0"}}) {
    EXPECT_TRUE(Contains(ErrorOf(Minimal(wrong)), wrong[0])) << wrong[0];
  }
}
}  // namespace
}  // namespace hagane::cli
