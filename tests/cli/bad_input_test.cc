// Whatever is wrong with flags and files: exit code, one sentence with the place, a hint; no crash,
// no result on stdout.
#include <gtest/gtest.h>

#include <algorithm>

#include "io/tensor_file.h"
#include "tests/cli/expect_error.h"
#include "tests/cli/tiny_model.h"

namespace hagane::cli {
namespace {

using io::Contains;
using io::ReadAll;

class BadInputTest : public ::testing::Test {
 protected:
  // The tiny model with trained weights in "trained".
  void MakeTrained() {
    const Outcome outcome =
        RunProgram(run_.Training() + Args{"--output_dir", run_.Path("trained")});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  Outcome Train(const Args& more = {}) { return RunProgram(run_.Training() + more); }
  Outcome TrainFile(const std::string& name, const std::string& text) {
    run_.folder().Write(name, text);
    return Train({"--train_file", run_.Path(name)});
  }
  Outcome FromTrained(const Args& more = {}) {
    return RunProgram(
        run_.Training() +
        Args{"--init_from_scratch", "False", "--model_name_or_path", run_.Path("trained")} + more);
  }
  // Writes the trained weights again with `change` applied to the list.
  template <class Change>
  void ChangeWeights(Change change) {
    std::vector<io::TensorToWrite> tensors;
    const auto file = io::OpenSafetensors(run_.Path("trained/model.safetensors"));
    for (const auto& [name, tensor] : file->tensors()) {
      tensors.push_back({name, tensor.dtype, tensor.shape, tensor.bytes});
    }
    change(&tensors);
    io::WriteSafetensors(run_.Path("changed.safetensors"), tensors, {{"format", "pt"}});
    std::filesystem::rename(run_.Path("changed.safetensors"),
                            run_.Path("trained/model.safetensors"));
  }

  TinyRun run_;
};

TEST_F(BadInputTest, UnknownFlag) {
  const Outcome outcome = Train({"--learnig_rate", "1"});
  ExpectError(outcome, 2, "--learnig_rate");
  EXPECT_TRUE(Contains(outcome.err, "did you mean --learning_rate?"));
}

TEST_F(BadInputTest, MissingFile) {
  ExpectError(Train({"--train_file", run_.Path("nowhere.csv")}), 1, "nowhere.csv");
  ExpectError(Train({"--validation_file", run_.Path("nowhere.csv"), "--do_eval"}), 1,
              "nowhere.csv");
}

TEST_F(BadInputTest, FolderInPlaceOfAFile) {
  std::filesystem::create_directory(run_.Path("folder.csv"));
  ExpectError(Train({"--train_file", run_.Path("folder.csv")}), 1, "folder.csv");
}

TEST_F(BadInputTest, MissingModel) {
  ExpectError(Train({"--model_name_or_path", run_.Path("nowhere")}), 1, "nowhere");
  ExpectError(Train({"--model_name_or_path", "no-such/model"}), 1, "no-such/model");
}

TEST_F(BadInputTest, RaggedRow) {
  ExpectError(TrainFile("ragged.csv", "sentence1,label\ngood,yes\nbad,no,extra\n"), 1,
              "ragged.csv:3");
}

TEST_F(BadInputTest, EmptyFile) {
  ExpectError(TrainFile("empty.csv", ""), 1, "empty.csv");
  ExpectError(TrainFile("header.csv", "sentence1,label\n"), 1, "header.csv");
}

TEST_F(BadInputTest, NoLabelColumn) {
  ExpectError(TrainFile("nolabel.csv", "sentence1,lable\ngood,yes\n"), 1, "nolabel.csv");
}

TEST_F(BadInputTest, EmptyLabel) {
  ExpectError(TrainFile("gap.csv", "sentence1,label\ngood,yes\nbad,\n"), 1, "gap.csv:3");
}

TEST_F(BadInputTest, LabelNotInTraining) {
  run_.folder().Write("other.csv", "sentence1,label\ngood,yes\nbad,perhaps\n");
  const Outcome outcome = Train({"--validation_file", run_.Path("other.csv"), "--do_eval"});
  ExpectError(outcome, 1, "other.csv:3");
  EXPECT_TRUE(Contains(outcome.err, "perhaps"));
}

TEST_F(BadInputTest, DamagedJsonLines) {
  ExpectError(TrainFile("broken.json", "{\"sentence1\": \"good\", \"label\": \"yes\"}\n{\"sent"), 1,
              "broken.json:2");
}

TEST_F(BadInputTest, UnknownFileType) { ExpectError(TrainFile("data.xlsx", "x"), 1, "data.xlsx"); }

TEST_F(BadInputTest, WrongModelType) {
  run_.folder().Write("model/config.json", R"({"model_type": "gpt2"})");
  const Outcome outcome = Train();
  ExpectError(outcome, 1, "gpt2");
  EXPECT_TRUE(Contains(outcome.err, "distilbert"));
}

TEST_F(BadInputTest, DamagedConfig) {
  run_.folder().Write("model/config.json", "{\"model_type\": \"bert\",,}");
  ExpectError(Train(), 1, "model/config.json:1");
  run_.folder().Write("model/config.json", R"({"model_type": "bert", "hidden_size": "wide"})");
  ExpectError(Train(), 1, "hidden_size");
}

TEST_F(BadInputTest, DamagedVocabulary) {
  run_.folder().Write("model/vocab.txt", "good\nbad\n");
  ExpectError(Train(), 1, "vocab.txt");
}

TEST_F(BadInputTest, NoTokenizerFiles) {
  std::filesystem::remove(run_.Path("model/vocab.txt"));
  ExpectError(Train(), 1, run_.Path("model"));
}

TEST_F(BadInputTest, TokenizerOfAnotherModel) {
  run_.folder().Write("model/config.json", [] {
    std::string config = kTinyConfig;
    return config.replace(config.find("40"), 2, "6");
  }());
  const Outcome outcome = Train();
  ExpectError(outcome, 1, "vocab_size");
}

TEST_F(BadInputTest, MissingTensor) {
  MakeTrained();
  ChangeWeights([](auto* tensors) {
    std::erase_if(*tensors, [](const auto& t) {
      return t.name == "bert.encoder.layer.1.output.dense.weight";
    });
  });
  ExpectError(FromTrained(), 1, "bert.encoder.layer.1.output.dense.weight");
}

TEST_F(BadInputTest, MisshapenTensor) {
  MakeTrained();
  ChangeWeights([](auto* tensors) {
    for (auto& tensor : *tensors) {
      if (tensor.name == "bert.encoder.layer.0.intermediate.dense.weight") tensor.shape = {16, 24};
    }
  });
  const Outcome outcome = FromTrained();
  ExpectError(outcome, 1, "bert.encoder.layer.0.intermediate.dense.weight");
  EXPECT_TRUE(Contains(outcome.err, "16x24"));
  EXPECT_TRUE(Contains(outcome.err, "24x16"));
}

TEST_F(BadInputTest, DamagedWeights) {
  MakeTrained();
  const std::string whole = ReadAll(run_.Path("trained/model.safetensors"));
  for (const size_t length : {size_t{0}, size_t{7}, size_t{100}, whole.size() - 1}) {
    run_.folder().Write("trained/model.safetensors", whole.substr(0, length));
    ExpectError(FromTrained(), 1, "model.safetensors");
  }
}

TEST_F(BadInputTest, NoWeights) {
  ExpectError(Train({"--init_from_scratch", "False"}), 1, run_.Path("model"));
}

TEST_F(BadInputTest, OutputFolderInUse) {
  run_.folder().Write("out/notes.txt", "mine");
  ExpectError(Train(), 1, run_.Path("out"));
}

TEST_F(BadInputTest, OutputFolderIsAFile) {
  run_.folder().Write("out", "a file");
  ExpectError(Train(), 1, run_.Path("out"));
}

TEST_F(BadInputTest, UnknownBestMetric) {
  const Outcome outcome =
      Train({"--load_best_model_at_end", "--eval_strategy", "steps", "--save_strategy", "steps",
             "--eval_steps", "1", "--save_steps", "1", "--metric_for_best_model", "acuracy"});
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_TRUE(Contains(outcome.err, "eval_accuracy"));
}

TEST_F(BadInputTest, ReferenceFilesOfVerify) {
  MakeTrained();
  ExpectError(RunProgram({"verify", "--model", run_.Path("trained"), "--reference",
                          run_.Path("nowhere.safetensors")}),
              1, "nowhere.safetensors");
  ExpectError(RunProgram({"verify", "--model", run_.Path("trained"), "--reference",
                          run_.Path("trained/model.safetensors")}),
              1, "in.input_ids");
}

TEST_F(BadInputTest, GlueWithoutData) {
  ::setenv("HF_HUB_CACHE", run_.Path("hub").c_str(), 1);
  const Outcome outcome = Train({"--task_name", "mrpc"});
  ::unsetenv("HF_HUB_CACHE");
  ExpectError(outcome, 1, "mrpc");
  EXPECT_TRUE(Contains(outcome.err, "--data_dir"));
}

TEST_F(BadInputTest, ProcessesThatCannotFindEachOther) {
  ::setenv("WORLD_SIZE", "4", 1);
  const Outcome outcome = Train();
  ::unsetenv("WORLD_SIZE");
  ExpectError(outcome, 2, "4 processes: each would train alone");
}

}  // namespace
}  // namespace hagane::cli
