#include "cli/output_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/manifest.h"
#include "tests/io/temporary_folder.h"

namespace hagane::cli {
namespace {

namespace fs = std::filesystem;

class LineLog : public Log {
 public:
  void Info(const std::string& line) override { lines += line + "\n"; }
  void Warning(const std::string& line) override { lines += line + "\n"; }
  std::string lines;
};

class OutputFolderTest : public ::testing::Test {
 protected:
  OutputFolderTest() {
    ctx_.log = &log_;
    output_.path = folder_.path() / "out";
    use_.train = true;
    use_.all_arguments = R"({"seed": 42, "overwrite_output_dir": true})";
    origin_.data = "d";
    origin_.start_weights = "w";
  }

  // A whole checkpoint as far as io is asked, of a run with these arguments and data.
  fs::path AddCheckpoint(int step, const std::string& all_arguments = R"({"seed": 42})",
                         const io::RunOrigin& origin = {"", "d", "w", "", 1}) {
    // The fingerprint is taken from what a run itself would write.
    OutputFolder elsewhere;
    elsewhere.path = folder_.path() / "elsewhere";
    RunFolder run(elsewhere, FolderUse{true, all_arguments}, ctx_);
    run.FindStart(origin, log_);
    const fs::path path = output_.path / ("checkpoint-" + std::to_string(step));
    fs::create_directories(path);
    std::ofstream(path / "x") << "x";
    io::WriteManifest(path, {{"step", step}, {"origin", io::ToJson(run.origin())}});
    return path;
  }
  void AddFile(const std::string& name, const std::string& text) {
    fs::create_directories(output_.path);
    std::ofstream(output_.path / name) << text;
  }
  std::optional<fs::path> Prepare() {
    log_.lines.clear();
    return RunFolder(output_, use_, ctx_).FindStart(origin_, log_);
  }
  std::string Refusal() {
    return io::ErrorOf([&] { Prepare(); });
  }

  io::TemporaryFolder folder_;
  OutputFolder output_;
  FolderUse use_;
  io::RunOrigin origin_;
  LineLog log_;
  RunContext ctx_;
};

TEST_F(OutputFolderTest, MissingFolderIsMade) {
  EXPECT_EQ(Prepare(), std::nullopt);
  EXPECT_TRUE(fs::is_directory(output_.path));
}

TEST_F(OutputFolderTest, FolderWithOtherFilesIsAnError) {
  AddFile("notes.txt", "mine");
  EXPECT_THROW(Prepare(), Error);
  output_.overwrite = true;
  EXPECT_EQ(Prepare(), std::nullopt);
  EXPECT_TRUE(fs::exists(output_.path / "notes.txt"));
}

TEST_F(OutputFolderTest, RunStoppedBeforeItsFirstCheckpointStartsAgain) {
  AddFile(kArgumentsFile, "{}");
  EXPECT_EQ(Prepare(), std::nullopt);
}

TEST_F(OutputFolderTest, CheckpointsAreResumedFromTheNewest) {
  AddCheckpoint(9);
  const fs::path newest = AddCheckpoint(10);
  EXPECT_EQ(Prepare(), newest);
}

TEST_F(OutputFolderTest, NamedCheckpointWins) {
  const fs::path older = AddCheckpoint(9);
  AddCheckpoint(10);
  output_.resume_from = older.string();
  EXPECT_EQ(Prepare(), older);
  output_.resume_from = "last";
  EXPECT_EQ(Prepare()->filename(), "checkpoint-10");
  output_.resume_from = (folder_.path() / "nowhere").string();
  try {
    Prepare();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("there is no checkpoint folder"), 0u) << error.what();
  }
}

TEST_F(OutputFolderTest, LastOfNoneIsAnError) {
  output_.resume_from = "last";
  EXPECT_THROW(Prepare(), Error);
}

TEST_F(OutputFolderTest, OverwritingDeletesTheOldRunsCheckpoints) {
  const fs::path old = AddCheckpoint(500, R"({"seed": 1})");
  output_.overwrite = true;
  EXPECT_EQ(Prepare(), std::nullopt);
  EXPECT_FALSE(fs::exists(old));
}

TEST_F(OutputFolderTest, OverwritingContinuesAnUnfinishedRunOfTheSameCommandDataAndWeights) {
  const std::string presented_otherwise = R"({"threads": 1, "seed": 42, "no_resume": false})";
  output_.overwrite = true;
  const fs::path newest = AddCheckpoint(5, presented_otherwise);
  AddFile(kArgumentsFile, "another run's, which was stopped before its first checkpoint");
  EXPECT_EQ(Prepare(), newest);
  EXPECT_TRUE(io::Contains(log_.lines, "from step 5 (checkpoint-5); --no_resume starts afresh"));

  origin_.data = "e";
  EXPECT_EQ(Prepare(), std::nullopt);
  EXPECT_TRUE(io::Contains(log_.lines,
                           "checkpoint-5 is not continued: it is of a run with another "
                           "training data"));
  origin_.data = "d";
  AddCheckpoint(5);
  origin_.start_weights = "x";
  EXPECT_EQ(Prepare(), std::nullopt);
  EXPECT_TRUE(io::Contains(log_.lines, "another start weights"));
  origin_.start_weights = "w";
  AddCheckpoint(5);
  use_.all_arguments = R"({"seed": 43})";
  EXPECT_EQ(Prepare(), std::nullopt);
  EXPECT_TRUE(io::Contains(log_.lines, "another command"));
}

TEST_F(OutputFolderTest, OverwritingDoesNotContinueWhatDoesNotSayItsCommand) {
  const fs::path path = output_.path / "checkpoint-5";
  fs::create_directories(path);
  io::WriteManifest(path, {{"step", 5}});
  output_.overwrite = true;
  EXPECT_EQ(Prepare(), std::nullopt);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(OutputFolderTest, OtherDataOrStartWeightsAreNamedUnlessToldOtherwise) {
  const fs::path newest = AddCheckpoint(5);
  use_.all_arguments = R"({"seed": 42, "logging_steps": 1})";
  EXPECT_EQ(Prepare(), newest);
  origin_.data = "e";
  EXPECT_TRUE(
      io::Contains(Refusal(), "checkpoint-5 was written by a run with other training data "));
  origin_.start_weights = "x";
  for (const std::string& from : {std::string(), std::string("last"), newest.string()}) {
    output_.resume_from = from;
    EXPECT_TRUE(io::Contains(Refusal(), "other training data and other start weights"));
  }
  output_.resume_despite_changes = true;
  EXPECT_EQ(Prepare(), newest);
}

TEST_F(OutputFolderTest, FinishedOrRefusedRunsAreNotContinued) {
  AddCheckpoint(5);
  output_.overwrite = true;
  output_.no_resume = true;
  EXPECT_EQ(Prepare(), std::nullopt);
  AddCheckpoint(5);
  output_.no_resume = false;
  AddFile("README.md", "");
  EXPECT_EQ(Prepare(), std::nullopt);
}

TEST_F(OutputFolderTest, ARunStoppedInItsLastEvaluationIsContinued) {
  const fs::path newest = AddCheckpoint(5);
  AddFile("train_results.json", "{}");
  AddFile("eval_results.json", "{}");  // the first of two evaluations
  output_.overwrite = true;
  EXPECT_EQ(Prepare(), newest);
}

TEST_F(OutputFolderTest, TheResultsOfAnEarlierRunDoNotEndTheNewOne) {
  output_.overwrite = true;
  AddFile("README.md", "");
  EXPECT_EQ(Prepare(), std::nullopt);
  const fs::path newest = AddCheckpoint(5);
  EXPECT_EQ(Prepare(), newest);
}

TEST_F(OutputFolderTest, DamagedCheckpointsAreNamedAndNeverLeadToAFreshStart) {
  const fs::path older = AddCheckpoint(4), newest = AddCheckpoint(5);
  std::ofstream(newest / "x") << "y";
  EXPECT_EQ(Prepare(), older);
  EXPECT_TRUE(io::Contains(log_.lines, "checkpoint-5/x has other content"));
  EXPECT_TRUE(io::Contains(log_.lines, "resuming training at " + older.string()));
  fs::remove(older / "x");
  EXPECT_TRUE(io::Contains(Refusal(), "holds no checkpoint that is whole"));
}

TEST_F(OutputFolderTest, IsLockedWhileTheRunLivesAndSweptBefore) {
  AddFile(".model.safetensors.tmp-1f-0", "half");
  AddFile(".mine.tmp-x", "mine");
  fs::create_directories(output_.path / ".checkpoint-5.tmp-1f-0/checkpoint-5");
  fs::create_directories(output_.path / ".checkpoint-4.deleted/x");
  {
    const RunFolder run(output_, use_, ctx_);
    EXPECT_TRUE(io::Contains(log_.lines, "removed 3 unfinished"));
    use_.train = false;
    EXPECT_TRUE(io::Contains(Refusal(), "another run"));
  }
  EXPECT_EQ(Refusal(), "");
  EXPECT_EQ(folder_.Names(),
            (std::vector<std::string>{"out", "out/.mine.tmp-x", "out/run_args.json"}));
}

TEST_F(OutputFolderTest, EvaluationMayShareAFullFolder) {
  AddFile("notes.txt", "mine");
  use_.train = false;
  EXPECT_EQ(Prepare(), std::nullopt);
}

}  // namespace
}  // namespace hagane::cli
