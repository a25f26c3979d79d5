// A model folder small enough to train in a moment, and tables to train it on.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/json.h"
#include "tests/cli/captured_streams.h"
#include "tests/io/temporary_folder.h"

namespace hagane::cli {

using Args = std::vector<std::string>;

inline Args operator+(Args a, const Args& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline constexpr const char* kTinyConfig = R"({"model_type": "bert", "vocab_size": 40,
  "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
  "max_position_embeddings": 32, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
  "initializer_range": 0.2})";

// A test case's folder with a tiny model without weights ("model") and train.csv, dev.csv,
// test.csv: rows that are good when they say so. Tokenised data is not cached.
class TinyRun {
 public:
  TinyRun() {
    ::setenv("HAGANE_CACHE", "off", 1);
    folder_.Write("model/config.json", kTinyConfig);
    folder_.Write("model/vocab.txt",
                  "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\nday\nnight\na\nb\nc\nthe\nred\n"
                  "blue\nhot\ncold\n");
    const std::string rows =
        "sentence1,label\ngood day,yes\nbad day,no\ngood night,yes\nbad night,no\n"
        "the good,yes\nthe bad,no\n";
    folder_.Write("train.csv", rows);
    folder_.Write("dev.csv", rows);
    folder_.Write("test.csv", "sentence1\ngood\nbad\n");
  }

  const io::TemporaryFolder& folder() const { return folder_; }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  // Model (from scratch), own data, output folder "out": what most runs share.
  Args Base() const {
    return {"run_glue",          "--model_name_or_path",
            Path("model"),       "--init_from_scratch",
            "--train_file",      Path("train.csv"),
            "--validation_file", Path("dev.csv"),
            "--output_dir",      Path("out")};
  }
  Args Training() const {
    return Base() + Args{"--do_train", "--max_steps",     "3", "--per_device_train_batch_size",
                         "4",          "--logging_steps", "1"};
  }
  nlohmann::json Json(const std::string& name) const {
    return io::ReadJsonFile(Path(name), io::kConfigLimits);
  }

 private:
  io::TemporaryFolder folder_;
};

// A run of six rows and three updates an epoch, and one that goes on from the middle of its second.
inline void ExpectSameBitsAfterResuming(const TinyRun& run, const Args& base) {
  const Args args = base + Args{"--do_train", "--num_train_epochs",
                                "2",          "--save_steps",
                                "2",          "--per_device_train_batch_size",
                                "2"};
  ASSERT_EQ(RunProgram(args).code, 0);
  const std::string whole = io::ReadAll(run.Path("out/model.safetensors"));
  std::filesystem::create_directories(run.Path("again"));
  std::filesystem::rename(run.Path("out/checkpoint-4"), run.Path("again/checkpoint-4"));
  const Outcome resumed = RunProgram(args + Args{"--output_dir", run.Path("again")});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(io::Contains(resumed.err, "Continuing training from global step 4"));
  EXPECT_EQ(io::ReadAll(run.Path("again/model.safetensors")), whole);
}

}  // namespace hagane::cli
