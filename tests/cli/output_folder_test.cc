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

class OutputFolderTest : public ::testing::Test {
 protected:
  OutputFolderTest() {
    arguments_.do_train = true;
    arguments_.output.path = folder_.path() / "out";
    arguments_.all_arguments = R"({"seed": 42, "overwrite_output_dir": true})";
  }

  // A whole checkpoint as far as io is asked.
  fs::path AddCheckpoint(int step) {
    const fs::path path = arguments_.output.path / ("checkpoint-" + std::to_string(step));
    fs::create_directories(path);
    std::ofstream(path / "x") << "x";
    io::WriteManifest(path, {{"step", step}});
    return path;
  }
  void AddFile(const std::string& name, const std::string& text) {
    fs::create_directories(arguments_.output.path);
    std::ofstream(arguments_.output.path / name) << text;
  }
  std::optional<fs::path> Prepare() {
    NullLog log;
    return PrepareOutputFolder(arguments_, log);
  }

  io::TemporaryFolder folder_;
  RunArguments arguments_;
};

TEST_F(OutputFolderTest, MissingFolderIsMade) {
  EXPECT_EQ(Prepare(), std::nullopt);
  EXPECT_TRUE(fs::is_directory(arguments_.output.path));
}

TEST_F(OutputFolderTest, FolderWithOtherFilesIsAnError) {
  AddFile("notes.txt", "mine");
  EXPECT_THROW(Prepare(), Error);
  arguments_.output.overwrite = true;
  EXPECT_EQ(Prepare(), std::nullopt);
  EXPECT_TRUE(fs::exists(arguments_.output.path / "notes.txt"));
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
  arguments_.output.resume_from = older.string();
  EXPECT_EQ(Prepare(), older);
  arguments_.output.resume_from = "last";
  EXPECT_EQ(Prepare()->filename(), "checkpoint-10");
  arguments_.output.resume_from = (folder_.path() / "nowhere").string();
  try {
    Prepare();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("there is no checkpoint folder"), 0u) << error.what();
  }
}

TEST_F(OutputFolderTest, LastOfNoneIsAnError) {
  arguments_.output.resume_from = "last";
  EXPECT_THROW(Prepare(), Error);
}

TEST_F(OutputFolderTest, OverwritingDeletesTheOldRunsCheckpoints) {
  const fs::path old = AddCheckpoint(500);
  arguments_.output.overwrite = true;
  EXPECT_EQ(Prepare(), std::nullopt);
  EXPECT_FALSE(fs::exists(old));
}

TEST_F(OutputFolderTest, OverwritingContinuesAnUnfinishedRunOfTheSameArguments) {
  const fs::path newest = AddCheckpoint(5);
  AddFile(kArgumentsFile, R"({"seed": 42, "overwrite_output_dir": true, "threads": 1})");
  arguments_.output.overwrite = true;
  EXPECT_EQ(Prepare(), newest);
  arguments_.all_arguments = R"({"seed": 43})";
  EXPECT_EQ(Prepare(), std::nullopt);
}

TEST_F(OutputFolderTest, FinishedOrRefusedRunsAreNotContinued) {
  AddCheckpoint(5);
  AddFile(kArgumentsFile, arguments_.all_arguments);
  arguments_.output.overwrite = true;
  arguments_.output.no_resume = true;
  EXPECT_EQ(Prepare(), std::nullopt);
  AddCheckpoint(5);
  arguments_.output.no_resume = false;
  AddFile("train_results.json", "{}");
  EXPECT_EQ(Prepare(), std::nullopt);
}

TEST_F(OutputFolderTest, ARunStoppedInItsLastEvaluationIsContinued) {
  const fs::path newest = AddCheckpoint(5);
  AddFile(kArgumentsFile, arguments_.all_arguments);
  AddFile("train_results.json", "{}");
  arguments_.output.overwrite = true;
  arguments_.do_eval = true;
  EXPECT_EQ(Prepare(), newest);
}

TEST_F(OutputFolderTest, TheResultsOfAnEarlierRunDoNotEndTheNewOne) {
  arguments_.output.overwrite = true;
  AddFile(kArgumentsFile, arguments_.all_arguments);
  AddFile("train_results.json", "{}");
  EXPECT_EQ(Prepare(), std::nullopt);
  const fs::path newest = AddCheckpoint(5);
  EXPECT_EQ(Prepare(), newest);
}

TEST_F(OutputFolderTest, EvaluationMayShareAFullFolder) {
  AddFile("notes.txt", "mine");
  arguments_.do_train = false;
  EXPECT_EQ(Prepare(), std::nullopt);
}

}  // namespace
}  // namespace hagane::cli
