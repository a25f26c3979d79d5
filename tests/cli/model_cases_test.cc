// Public cases about weights and positions, end to end.
#include <gtest/gtest.h>

#include "tests/cli/tiny_model.h"

namespace hagane::cli {
namespace {

using io::Contains;

class ModelCasesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(io::SharedDir())) GTEST_SKIP() << "no folder " << io::SharedDir();
  }
  static std::string Shared(const std::string& name) { return (io::SharedDir() / name).string(); }

  Outcome Run(const std::string& model, const std::string& train, const Args& more) {
    return RunProgram(Args{"run_glue", "--model_name_or_path", model, "--train_file", train,
                           "--validation_file", train, "--output_dir", run_.Path("out"),
                           "--overwrite_output_dir"} +
                      more);
  }

  TinyRun run_;
};

TEST_F(ModelCasesTest, BL15OtherHeadSizeIsAnErrorWithBothShapes) {
  const Outcome outcome = Run(Shared("cases/BL-15-head-size-mismatch/model-3-labels"),
                              Shared("cases/BL-15-head-size-mismatch/train.csv"), {"--do_train"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(Contains(outcome.err, "classifier.weight"));
  EXPECT_TRUE(Contains(outcome.err, "3x20"));
  EXPECT_TRUE(Contains(outcome.err, "2x20"));
  EXPECT_TRUE(Contains(outcome.err, "--ignore_mismatched_sizes"));
}

TEST_F(ModelCasesTest, BL15OnRequestOnlyTheHeadIsNew) {
  const Outcome outcome = Run(Shared("cases/BL-15-head-size-mismatch/model-3-labels"),
                              Shared("cases/BL-15-head-size-mismatch/train.csv"),
                              {"--do_train", "--max_steps", "1", "--ignore_mismatched_sizes"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.err, "23 tensors loaded"));
  EXPECT_TRUE(Contains(outcome.err, "newly initialized because the shapes did not match"));
  EXPECT_TRUE(Contains(outcome.err, "classifier.bias"));
  EXPECT_EQ(run_.Json("out/config.json")["id2label"].size(), 2u);
}

TEST_F(ModelCasesTest, BL22RobertaTakesTwoTokensLessThanItsPositions) {
  run_.folder().Write("roberta/config.json",
                      R"({"model_type": "roberta", "vocab_size": 50265, "hidden_size": 8,
      "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8,
      "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1})");
  for (const char* name : {"vocab.json", "merges.txt"}) {
    std::filesystem::copy(Shared("data/vocab/roberta-base/") + name, run_.Path("roberta/") + name);
  }
  std::string words;
  for (int i = 0; i < 700; ++i) words += "word ";
  run_.folder().Write("long.csv", "sentence1,label\n" + words + ",0\nshort,1\n");
  const Outcome outcome = Run(run_.Path("roberta"), run_.Path("long.csv"),
                              {"--init_from_scratch", "--do_train", "--do_eval", "--max_steps", "1",
                               "--max_seq_length", "514"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.err, "Using max_seq_length=512"));
  EXPECT_TRUE(Contains(outcome.err, "50.0 % cut to 512"));
}

TEST_F(ModelCasesTest, BL23KeyNamesDoNotMatter) {
  std::vector<double> losses;
  for (const char* model : {"plain", "bert-prefix-gamma-beta", "module-bert-prefix"}) {
    const Outcome outcome = Run(Shared("cases/BL-23-weight-key-names/") + model,
                                Shared("cases/BL-15-head-size-mismatch/train.csv"), {"--do_eval"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(Contains(outcome.err, "23 tensors loaded")) << model;
    EXPECT_TRUE(
        Contains(outcome.err, "newly initialized: ['classifier.bias', 'classifier.weight']"));
    losses.push_back(run_.Json("out/eval_results.json")["eval_loss"]);
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(losses[0], losses[2]);
}

// The reference's own smoke test, with random small weights it only has to run.
TEST_F(ModelCasesTest, SampleFilesWithLabelsInWordsTrain) {
  const std::string samples = Shared("data/fixtures/hf-samples/MRPC/");
  std::filesystem::create_directories(run_.Path("bert"));
  std::filesystem::copy(Shared("data/vocab/bert-base-uncased/vocab.txt"),
                        run_.Path("bert/vocab.txt"));
  run_.folder().Write("bert/config.json",
                      R"({"model_type": "distilbert", "dim": 16, "hidden_dim": 16, "n_layers": 1,
      "n_heads": 2})");
  const Outcome outcome =
      Run(run_.Path("bert"), samples + "train.csv",
          {"--init_from_scratch", "--validation_file", samples + "dev.csv", "--do_train",
           "--do_eval", "--per_device_train_batch_size", "2", "--per_device_eval_batch_size", "1",
           "--learning_rate", "1e-4", "--max_steps", "10", "--warmup_steps", "2", "--seed", "42"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(run_.Json("out/config.json")["label2id"],
            (nlohmann::json{{"equivalent", 0}, {"not_equivalent", 1}}));
  EXPECT_EQ(run_.Json("out/trainer_state.json")["global_step"], 10);
}

}  // namespace
}  // namespace hagane::cli
