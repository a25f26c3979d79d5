#include "cli/flag_parser.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/io/temporary_folder.h"

namespace hagane::cli {
namespace {

using Args = std::vector<std::string>;

ParsedFlags Parse(const Args& args) { return ParseFlags(RunGlueFlags(), args, "hagane run_glue"); }

// The message and the hint of the error that `args` give.
std::string ErrorOf(const Args& args) {
  try {
    Parse(args);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
    return std::string(error.what()) + "|" + error.hint();
  }
  return "no error";
}

TEST(FlagParserTest, DefaultsAreTheReferences) {
  const ParsedFlags flags = Parse({});
  EXPECT_EQ(flags.Int("max_seq_length"), 128);
  EXPECT_EQ(flags.Float("learning_rate"), 5e-5);
  EXPECT_EQ(flags.Float("num_train_epochs"), 3.0);
  EXPECT_EQ(flags.Int("seed"), 42);
  EXPECT_EQ(flags.String("save_strategy"), "steps");
  EXPECT_EQ(flags.String("eval_strategy"), "no");
  EXPECT_FALSE(flags.OptionalFloat("eval_steps").has_value());
  EXPECT_TRUE(flags.Bool("pad_to_max_length"));
}

TEST(FlagParserTest, ValueFollowsOrIsJoined) {
  EXPECT_EQ(Parse({"--seed", "7"}).Int("seed"), 7);
  EXPECT_EQ(Parse({"--seed=7"}).Int("seed"), 7);
  EXPECT_EQ(Parse({"--output_dir=a=b"}).String("output_dir"), "a=b");
  EXPECT_EQ(Parse({"--max_steps", "-1"}).Int("max_steps"), -1);
}

TEST(FlagParserTest, HyphensAreUnderscores) {
  EXPECT_EQ(Parse({"--output-dir", "x"}).String("output_dir"), "x");
  EXPECT_EQ(Parse({"--max-seq_length=64"}).Int("max_seq_length"), 64);
}

TEST(FlagParserTest, UnambiguousPrefixesAreCompleted) {
  EXPECT_EQ(Parse({"--per_device_train", "8"}).Int("per_device_train_batch_size"), 8);
  EXPECT_EQ(Parse({"--learn", "1e-3"}).Float("learning_rate"), 1e-3);
  // Old and new name of one flag do not make a prefix ambiguous, and a whole name is never one.
  EXPECT_EQ(Parse({"--evaluation", "epoch"}).String("eval_strategy"), "epoch");
  EXPECT_TRUE(Parse({"--bf16"}).Bool("bf16"));
}

TEST(FlagParserTest, AmbiguousPrefixNamesTheCandidates) {
  const std::string error = ErrorOf({"--per_device", "8"});
  EXPECT_NE(error.find("--per_device_eval_batch_size"), std::string::npos) << error;
  EXPECT_NE(error.find("--per_device_train_batch_size"), std::string::npos) << error;
}

TEST(FlagParserTest, OwnFlagsDoNotMakeTheReferencesPrefixesAmbiguous) {
  // data_dir is hagane's, data_seed the reference's.
  EXPECT_EQ(Parse({"--data_s", "3"}).Int("data_seed"), 3);
  EXPECT_EQ(Parse({"--data_d", "glue"}).String("data_dir"), "glue");
  EXPECT_TRUE(Parse({"--no_res"}).Bool("no_resume"));
}

TEST(FlagParserTest, BooleansAreBareOrTakeAWord) {
  EXPECT_TRUE(Parse({"--do_train"}).Bool("do_train"));
  EXPECT_TRUE(Parse({"--do_train", "--do_eval"}).Bool("do_train"));
  for (const char* yes : {"yes", "True", "T", "y", "1"}) {
    EXPECT_TRUE(Parse({"--do_train", yes}).Bool("do_train")) << yes;
  }
  for (const char* no : {"no", "FALSE", "f", "N", "0"}) {
    EXPECT_FALSE(Parse({"--do_train", no}).Bool("do_train")) << no;
  }
  EXPECT_NE(ErrorOf({"--do_train", "maybe"}).find("truth value"), std::string::npos);
}

TEST(FlagParserTest, TrueDefaultsHaveANoForm) {
  EXPECT_FALSE(Parse({"--no_pad_to_max_length"}).Bool("pad_to_max_length"));
  EXPECT_FALSE(Parse({"--no-dataloader-pin-memory"}).Bool("dataloader_pin_memory"));
  EXPECT_NE(ErrorOf({"--no_do_train"}).find("unknown flag"), std::string::npos);
  // no_cuda is a name of its own.
  EXPECT_TRUE(Parse({"--no_cuda"}).Bool("no_cuda"));
  EXPECT_TRUE(Parse({"--use_cpu"}).Bool("no_cuda"));
}

TEST(FlagParserTest, OptionalBooleansNeedTheWord) {
  EXPECT_FALSE(Parse({}).OptionalBool("greater_is_better").has_value());
  EXPECT_EQ(Parse({"--greater_is_better", "True"}).OptionalBool("greater_is_better"), true);
  EXPECT_NE(ErrorOf({"--greater_is_better"}).find("needs a value"), std::string::npos);
}

TEST(FlagParserTest, TheLastOfTwoWins) {
  EXPECT_EQ(Parse({"--seed", "1", "--seed", "2"}).Int("seed"), 2);
  EXPECT_EQ(
      Parse({"--evaluation_strategy", "steps", "--eval_strategy", "epoch"}).String("eval_strategy"),
      "epoch");
}

TEST(FlagParserTest, ListsTakeTheWordsUpToTheNextFlag) {
  const auto json = Parse({"--label_names", "a", "b", "--do_eval"}).ToJson();
  EXPECT_EQ(json["label_names"], (Args{"a", "b"}));
  EXPECT_EQ(json["do_eval"], true);
}

TEST(FlagParserTest, UnknownFlagProposesTheNearest) {
  EXPECT_EQ(ErrorOf({"--learning_rat3", "1"}),
            "unknown flag --learning_rat3|did you mean "
            "--learning_rate?");
  EXPECT_NE(ErrorOf({"--qqqqqqqqqqqqqqqq"}).find("--help_all"), std::string::npos);
}

TEST(FlagParserTest, WrongValuesNameTheFlag) {
  EXPECT_NE(ErrorOf({"--seed", "1.5"}).find("--seed: '1.5'"), std::string::npos);
  EXPECT_NE(ErrorOf({"--learning_rate", "fast"}).find("--learning_rate: 'fast'"),
            std::string::npos);
  EXPECT_NE(ErrorOf({"--learning_rate", "nan"}).find("--learning_rate"), std::string::npos);
  EXPECT_NE(ErrorOf({"--seed"}).find("--seed needs a value"), std::string::npos);
  EXPECT_NE(ErrorOf({"--save_strategy", "epochs"}).find("did you mean --save_strategy epoch?"),
            std::string::npos);
  EXPECT_NE(ErrorOf({"--lr_scheduler_kwargs", "{"}).find("lr_scheduler_kwargs"), std::string::npos);
  EXPECT_NE(ErrorOf({"stray"}).find("'stray'"), std::string::npos);
}

TEST(FlagParserTest, JsonFileHoldsAllArgumentsAndFlagsWin) {
  const io::TemporaryFolder folder;
  const std::string path = (folder.path() / "args.json").string();
  std::ofstream(path) << R"({"output_dir": "out", "do_train": true, "learning_rate": 1e-4,
      "max_steps": 7, "label_names": ["a"], "lr_scheduler_kwargs": {"power": 2}, "eval_steps": null,
      "evaluation_strategy": "epoch", "num_train_epochs": 2})";
  const ParsedFlags flags = Parse({path, "--max_steps", "9"});
  EXPECT_EQ(flags.String("output_dir"), "out");
  EXPECT_TRUE(flags.Bool("do_train"));
  EXPECT_EQ(flags.Float("learning_rate"), 1e-4);
  EXPECT_EQ(flags.Int("max_steps"), 9);
  EXPECT_EQ(flags.Float("num_train_epochs"), 2.0);
  EXPECT_EQ(flags.String("eval_strategy"), "epoch");
  EXPECT_EQ(flags.ToJson()["lr_scheduler_kwargs"]["power"], 2);
}

TEST(FlagParserTest, JsonFileWithAnUnknownArgumentIsAnError) {
  const io::TemporaryFolder folder;
  const std::string path = (folder.path() / "args.json").string();
  std::ofstream(path) << R"({"output_dirr": "out"})";
  EXPECT_NE(ErrorOf({path}).find("did you mean \"output_dir\"?"), std::string::npos);
  std::ofstream(path) << R"({"seed": [1]})";
  EXPECT_NE(ErrorOf({path}).find("--seed"), std::string::npos);
}

TEST(FlagParserTest, PrintedConfigurationReadsBackTheSame) {
  const io::TemporaryFolder folder;
  const std::string path = (folder.path() / "args.json").string();
  const auto first =
      Parse({"--output_dir", "o", "--learning_rate", "3e-5", "--fsdp", "full", "--bf16"}).ToJson();
  std::ofstream(path) << first.dump();
  EXPECT_EQ(Parse({path}).ToJson(), first);
}

TEST(FlagParserTest, SecretsAreNotInTheConfiguration) {
  const auto json = Parse({"--token", "hf_secret"}).ToJson();
  EXPECT_FALSE(json.contains("token"));
  EXPECT_EQ(json.dump().find("hf_secret"), std::string::npos);
}

TEST(FlagTableTest, NoNameStandsForTwoFlags) {
  std::map<std::string, int> seen;
  for (const Flag& flag : RunGlueFlags()) {
    ++seen[flag.name];
    for (const std::string& alias : flag.aliases) ++seen[alias];
  }
  for (const auto& [name, count] : seen) EXPECT_EQ(count, 1) << name;
}

// Every rename of the reference's history is accepted under both names.
TEST(FlagTableTest, OldAndNewNamesAreAccepted) {
  for (const char* name :
       {"no_cuda", "use_cpu", "xpu_backend", "ddp_backend", "evaluation_strategy", "eval_strategy",
        "use_ipex", "overwrite_output_dir", "warmup_ratio", "save_safetensors",
        "per_gpu_train_batch_size", "half_precision_backend", "group_by_length",
        "train_sampling_strategy", "logging_dir", "gradient_checkpointing",
        "activation_checkpointing", "use_auth_token", "token"}) {
    int found = 0;
    for (const Flag& flag : RunGlueFlags()) {
      found += flag.name == name;
      for (const std::string& alias : flag.aliases) found += alias == name;
    }
    EXPECT_EQ(found, 1) << name;
  }
}

}  // namespace
}  // namespace hagane::cli
