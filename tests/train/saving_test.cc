// Saving while training goes on, and saves that fail.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <mutex>

#include "base/error.h"
#include "io/checkpoint.h"
#include "io/output_lock.h"
#include "tests/io/faulty_files.h"
#include "tests/train/trainer_fixture.h"

namespace hagane::train {
namespace {

namespace fs = std::filesystem;

// Nothing of a checkpoint is synced before Open was called with its step.
class GatedFiles : public io::FileSystem {
 public:
  int Sync(int fd) override {
    const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(fd));
    std::unique_lock lock(mutex_);
    for (const auto& part : path) {
      const std::string name = part.string();
      if (!name.starts_with("checkpoint-")) continue;
      const int64_t step = std::stoll(name.substr(11));
      // So that a program that lets training wait fails, and does not hang.
      if (!changed_.wait_for(lock, std::chrono::seconds(20),
                             [&] { return timed_out_ || step <= open_; })) {
        timed_out_ = true;
      }
    }
    return 0;
  }
  void OpenUntil(int64_t step) {
    const std::lock_guard lock(mutex_);
    open_ = step;
    changed_.notify_all();
  }
  bool timed_out() {
    const std::lock_guard lock(mutex_);
    return timed_out_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t open_ = 0;
  bool timed_out_ = false;
};

// No folder for the checkpoint of one step can be made.
class StepRefused : public io::UnsyncedFiles {
 public:
  explicit StepRefused(int64_t step) : name_("/.checkpoint-" + std::to_string(step) + ".") {}
  int MakeFolder(const char* path, unsigned mode) override {
    if (std::string(path).find(name_) == std::string::npos) {
      return FileSystem::MakeFolder(path, mode);
    }
    errno = ENOSPC;
    return -1;
  }

 private:
  const std::string name_;
};

class FullDisk : public io::UnsyncedFiles {
 public:
  int64_t FreeBytes(const char*) override { return 0; }
};

std::string Content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class SavingTest : public TrainerTest {
 protected:
  void SetUp() override {
    TrainerTest::SetUp();
    options_.save.strategy = Interval::kSteps;
    options_.save.steps = 2;
    options_.max_steps = 6;
  }
  fs::path Checkpoint(int64_t step) const { return io::CheckpointPath(folder_, step); }

  const data::Features features_ = SmallFeatures(10);
};

TEST_F(SavingTest, TrainingGoesOnAndTheCheckpointHoldsTheStepItWasBegunAt) {
  options_.save.in_background = false;
  Recorder first, second;
  {
    io::UnsyncedFiles files;
    const io::ScopedFileSystem scope(&files);
    Run(features_, &first);
  }
  const char* const names[] = {"model.safetensors", "optimizer.safetensors", "trainer_state.json"};
  std::vector<std::string> expected;
  for (const int64_t step : {2, 4, 6}) {
    for (const char* name : names) expected.push_back(Content(Checkpoint(step) / name));
  }
  fs::remove_all(folder_);
  fs::create_directories(folder_);

  options_.save.in_background = true;
  GatedFiles files;
  second.on_step = [&](int64_t step) {
    if (step == 3) {
      EXPECT_FALSE(fs::exists(Checkpoint(2)));
      files.OpenUntil(2);
    }
    if (step == 5) {
      EXPECT_FALSE(fs::exists(Checkpoint(4)));
      files.OpenUntil(6);
    }
  };
  const io::ScopedFileSystem scope(&files);
  Run(features_, &second);
  EXPECT_FALSE(files.timed_out());
  size_t i = 0;
  for (const int64_t step : {2, 4, 6}) {
    for (const char* name : names) EXPECT_EQ(Content(Checkpoint(step) / name), expected[i++]) << i;
    io::CheckCheckpoint(Checkpoint(step));
  }
}

TEST_F(SavingTest, TheOldCheckpointGoesWhenTheNewOneIsWhole) {
  options_.save.total_limit = 1;
  GatedFiles files;
  files.OpenUntil(2);
  Recorder recorder;
  recorder.on_step = [&](int64_t step) {
    if (step != 5) return;
    EXPECT_TRUE(fs::exists(Checkpoint(2)));
    EXPECT_FALSE(fs::exists(Checkpoint(4)));
    files.OpenUntil(6);
  };
  const io::ScopedFileSystem scope(&files);
  Run(features_, &recorder);
  EXPECT_FALSE(files.timed_out());
  ASSERT_EQ(io::ListCheckpoints(folder_).size(), 1u);
  EXPECT_EQ(io::ListCheckpoints(folder_)[0].step, 6);
}

TEST_F(SavingTest, AnyOperationThatFailsIsAWarningAndCostsThatCheckpointAlone) {
  options_.save.steps = 1;
  options_.max_steps = 2;
  options_.save.total_limit = 1;
  constexpr int kStride = 7;  // a prime: all kinds of operations are met
  for (const bool background : {false, true}) {
    options_.save.in_background = background;
    std::vector<float> expected;
    int operations = 0, tried = 0, failed = 0;
    for (int at = 0; at <= operations; at += at == 0 ? 1 : kStride, ++tried) {
      SCOPED_TRACE("operation " + std::to_string(at));
      fs::remove_all(folder_);
      fs::create_directories(folder_);
      Recorder recorder;
      io::FaultyFiles files(at, io::FaultyFiles::Fault::kError, at % 2 == 0 ? ENOSPC : EIO);
      after_training_ = [&](Trainer*) {
        if (at == 0) operations = files.operations();
      };
      {
        const io::ScopedFileSystem scope(&files);
        ctx_ = nn::TestContext();
        model_ = nn::SmallModel(ctx_, "bert", nn::ModelOptions{});
        Trainer trainer(ctx_, &group_, options_, model_.get(), &features_, nullptr,
                        LabelMetrics(data::MetricSet::kAccuracy), save_model_files_, &recorder);
        ASSERT_EQ(trainer.Train().steps, 2);
        after_training_(&trainer);
      }
      if (at == 0) expected = Weights();
      EXPECT_EQ(Weights(), expected);
      int missing = 0;
      for (const std::string& warning : recorder.warnings) {
        if (warning.find("could not be saved") != std::string::npos) ++missing;
      }
      EXPECT_LE(recorder.warnings.size(), 1u);
      failed += missing;
      const auto left = io::ListCheckpoints(folder_);
      EXPECT_GE(left.size(), 1u);
      for (const auto& checkpoint : left) EXPECT_NO_THROW(io::CheckCheckpoint(checkpoint.path));
      if (missing == 1) {
        const std::string name = recorder.warnings[0].substr(0, recorder.warnings[0].find(' '));
        EXPECT_FALSE(fs::exists(folder_ / name));
      }
    }
    EXPECT_GT(operations, 50);
    EXPECT_GT(failed, tried / 2);
  }
}

TEST_F(SavingTest, AWarningNamesTheReasonAndTheLastWholeCheckpoint) {
  StepRefused files(4);
  const io::ScopedFileSystem scope(&files);
  Recorder recorder;
  Run(features_, &recorder);
  ASSERT_EQ(recorder.warnings.size(), 1u);
  EXPECT_NE(recorder.warnings[0].find("checkpoint-4 could not be saved"), std::string::npos);
  EXPECT_NE(recorder.warnings[0].find("No space left on device"), std::string::npos);
  EXPECT_NE(recorder.warnings[0].find(Checkpoint(2).string()), std::string::npos);
  EXPECT_TRUE(fs::exists(Checkpoint(6)));
}

// The first epoch is the best one; its checkpoint fails.
TEST_F(SavingTest, TheBestCheckpointIsOneThatIsWhole) {
  options_.max_steps = 10;
  options_.save.steps = 5;
  options_.evaluation.strategy = Interval::kSteps;
  options_.evaluation.steps = 5;
  options_.best.load_at_end = true;
  options_.optimizer.learning_rate = 1e-2;
  Recorder undisturbed, recorder;
  {
    io::UnsyncedFiles files;
    const io::ScopedFileSystem scope(&files);
    ASSERT_EQ(Run(features_, &undisturbed, &features_).best_checkpoint, Checkpoint(5).string());
  }
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  StepRefused files(5);
  const io::ScopedFileSystem scope(&files);
  EXPECT_EQ(Run(features_, &recorder, &features_).best_checkpoint, Checkpoint(10).string());
  EXPECT_EQ(ReadTrainerState(folder_).state.best_model_checkpoint, Checkpoint(10).string());
}

TEST_F(SavingTest, ASaveThatTheRunEndsWithMustNotFail) {
  options_.save.strategy = Interval::kNo;
  FullDisk files;
  const io::ScopedFileSystem scope(&files);
  Recorder stopped, whole;
  stopped.stop_after = 3;
  EXPECT_THROW(Run(features_, &stopped), Error);
  after_training_ = [](Trainer* trainer) { EXPECT_THROW(trainer->SaveModel(), Error); };
  Run(features_, &whole);
}

TEST_F(SavingTest, AStopSavesWhatCouldNotBeSavedBefore) {
  options_.max_steps = 2;
  StepRefused files(2);
  const io::ScopedFileSystem scope(&files);
  Recorder recorder;
  after_training_ = [&](Trainer* trainer) {
    EXPECT_FALSE(fs::exists(Checkpoint(2)));
    io::UnsyncedFiles better;
    const io::ScopedFileSystem inner(&better);
    trainer->SaveIfUnsaved();
    EXPECT_TRUE(fs::exists(Checkpoint(2)));
  };
  Run(features_, &recorder);
  EXPECT_EQ(recorder.warnings.size(), 1u);
}

TEST_F(SavingTest, ARunWhoseFolderWasTakenOverEnds) {
  save_model_files_ = [](const fs::path&) { throw io::FolderTakenOver("taken"); };
  Recorder recorder;
  EXPECT_THROW(Run(features_, &recorder), io::FolderTakenOver);
  EXPECT_EQ(recorder.steps.size(), 2u);
}

}  // namespace
}  // namespace hagane::train
