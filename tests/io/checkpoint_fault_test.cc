// Nothing that can happen to a save or to a saved checkpoint leads to a start from a damaged one.
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "io/atomic_write.h"
#include "io/checkpoint.h"
#include "io/json.h"
#include "io/manifest.h"
#include "tests/io/faulty_files.h"
#include "tests/io/temporary_folder.h"

namespace hagane::io {
namespace {

namespace fs = std::filesystem;

// The files of a checkpoint, with the step in each.
void WriteFiles(const fs::path& folder, int64_t step) {
  std::vector<float> values(300);
  std::iota(values.begin(), values.end(), static_cast<float>(step));
  WriteFileAtomically(folder / "config.json", R"({"model_type": "bert", "hidden_size": 16})");
  WriteSafetensors(folder / "model.safetensors",
                   {{"w", DType::kF32, {300}, std::as_bytes(std::span(values))}},
                   {{"format", "pt"}});
  WriteOptimizerState(folder, {{"w", values, values}}, step);
  WriteTrainerState(folder, {{"global_step", step}, {kOwnStateKey, {{"seed", 42}}}});
  WriteManifest(folder, {{"step", step}, {"learning_rate", 1e-5}, {"note", "caf\u00e9"}});
}

void Save(const fs::path& output_dir, int64_t step) {
  AtomicFolder folder(CheckpointPath(output_dir, step));
  WriteFiles(folder.path(), step);
  folder.Commit();
}

// What a run does at step 20 with a limit of one.
void SaveAndRotate(const fs::path& output_dir) {
  Save(output_dir, 20);
  for (const fs::path& old : CheckpointsToDelete(ListCheckpoints(output_dir), 1, {})) {
    DeleteCheckpoint(old);
  }
}

bool Throws(const std::function<void()>& action) {
  try {
    action();
    return false;
  } catch (const Error&) {
    return true;
  }
}

// What the next run does first. Returns the step it goes on from; -1: none.
int64_t Recover(const fs::path& output_dir) {
  NullLog log;
  SweepLeftovers(output_dir);
  for (const auto& entry : fs::directory_iterator(output_dir)) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("checkpoint-")) << entry.path();
  }
  const auto newest = NewestWholeCheckpoint(output_dir, log);
  if (!newest) return -1;
  EXPECT_EQ(ReadTrainerState(newest->path)["global_step"], newest->step);
  EXPECT_EQ(OptimizerState(newest->path).step(), newest->step);
  return newest->step;
}

// A save to a free name; to that of an older, damaged checkpoint, which is exchanged; and the same
// on a file system that cannot exchange.
enum class Way { kNew, kExchange, kTwoRenames };

class FaultInSave : public testing::TestWithParam<Way> {
 protected:
  void Prepare(const fs::path& output_dir) const {
    UnsyncedFiles files;
    const ScopedFileSystem use(&files);
    fs::remove_all(output_dir);
    Save(output_dir, 10);
    if (GetParam() == Way::kNew) return;
    Save(output_dir, 20);
    fs::resize_file(output_dir / "checkpoint-20/model.safetensors", 100);
  }
  int CountOperations(const fs::path& output_dir) const {
    Prepare(output_dir);
    FaultyFiles files;
    files.exchanges = GetParam() != Way::kTwoRenames;
    const ScopedFileSystem use(&files);
    SaveAndRotate(output_dir);
    return files.operations();
  }
};

TEST_P(FaultInSave, KilledAtEveryOperation) {
  TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const int count = CountOperations(out);
  ASSERT_GT(count, 40);
  int from_old = 0, from_new = 0;
  for (int at = 1; at <= count; ++at) {
    Prepare(out);
    FaultyFiles files(at, FaultyFiles::Fault::kDie);
    files.exchanges = GetParam() != Way::kTwoRenames;
    {
      const ScopedFileSystem use(&files);
      Throws([&] { SaveAndRotate(out); });
    }
    UnsyncedFiles later;
    const ScopedFileSystem use(&later);
    const int64_t step = Recover(out);
    ASSERT_TRUE(step == 10 || step == 20) << at;
    (step == 10 ? from_old : from_new)++;
    SaveAndRotate(out);
    ASSERT_EQ(Recover(out), 20) << at;
  }
  EXPECT_GT(from_old, 0);
  EXPECT_GT(from_new, 0);
}

TEST_P(FaultInSave, EveryOperationFailsOnce) {
  TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const int count = CountOperations(out);
  for (const int error : {ENOSPC, EIO}) {
    for (int at = 1; at <= count; ++at) {
      Prepare(out);
      FaultyFiles files(at, FaultyFiles::Fault::kError, error);
      files.exchanges = GetParam() != Way::kTwoRenames;
      bool failed = false;
      {
        const ScopedFileSystem use(&files);
        failed = Throws([&] { Save(out, 20); });
      }
      ASSERT_FALSE(files.synced_after_failure()) << at;
      UnsyncedFiles later;
      const ScopedFileSystem use(&later);
      const int64_t step = Recover(out);
      ASSERT_EQ(step, failed ? 10 : 20) << at << ", error " << error;
      Save(out, 20);
      ASSERT_EQ(Recover(out), 20) << at;
    }
  }
}

TEST_P(FaultInSave, ShortWritesAreContinued) {
  TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const int count = CountOperations(out);
  for (int at = 1; at <= count; ++at) {
    Prepare(out);
    FaultyFiles files(at, FaultyFiles::Fault::kShortWrite);
    const ScopedFileSystem use(&files);
    SaveAndRotate(out);
    ASSERT_EQ(Recover(out), 20) << at;
  }
}

TEST_P(FaultInSave, PowerIsLostAfterEveryOperation) {
  TemporaryFolder folder;
  const fs::path out = folder.path() / "out", after = folder.path() / "after";
  Prepare(out);
  std::mt19937 random(1);
  bool saved = false;
  int checked = 0;
  const PowerLossFiles* loss = nullptr;
  if (GetParam() == Way::kTwoRenames) GTEST_SKIP() << "as with an exchange";
  PowerLossFiles files(out, [&] {
    UnsyncedFiles plain;
    const ScopedFileSystem use_plain(&plain);
    for (int trial = 0; trial < 6; ++trial) {
      fs::remove_all(after);
      loss->Restore(after, trial == 0 ? nullptr : &random);
      const int64_t step = Recover(after);
      ASSERT_TRUE(step == 20 || (!saved && step == 10)) << checked << ", step " << step;
      ++checked;
    }
  });
  loss = &files;
  const ScopedFileSystem use(&files);
  Save(out, 20);
  saved = true;
  DeleteCheckpoint(CheckpointPath(out, 10));
  EXPECT_GT(checked, 200);
}

INSTANTIATE_TEST_SUITE_P(Ways, FaultInSave,
                         testing::Values(Way::kNew, Way::kExchange, Way::kTwoRenames));

TEST(AtomicFolder, WhoseLastSyncFailsIsDropped) {
  // The folder has its name already, but nobody knows for how long: it is dropped, and what had the
  // name before is back.
  TemporaryFolder folder;
  Save(folder.path(), 20);
  const std::string before = ReadAll(folder.path() / "checkpoint-20/model.safetensors");
  struct LastSyncFails : FileSystem {
    std::string folder;
    int fd = -1;
    int Open(const char* path, int flags, unsigned mode) override {
      const int opened = FileSystem::Open(path, flags, mode);
      if (path == folder) fd = opened;
      return opened;
    }
    int Close(int closed) override {
      if (closed == fd) fd = -1;
      return FileSystem::Close(closed);
    }
    int Sync(int synced) override {
      if (synced != fd) return FileSystem::Sync(synced);
      errno = EIO;
      return -1;
    }
  } files;
  files.folder = folder.path().string();
  const ScopedFileSystem use(&files);
  EXPECT_TRUE(Contains(ErrorOf([&] {
                         AtomicFolder other(CheckpointPath(folder.path(), 20));
                         WriteFiles(other.path(), 30);
                         other.Commit();
                       }),
                       "cannot sync"));
  EXPECT_EQ(ReadAll(folder.path() / "checkpoint-20/model.safetensors"), before);
  EXPECT_TRUE(Throws([&] { Save(folder.path(), 30); }));
  EXPECT_EQ(ListCheckpoints(folder.path()).size(), 1u);
  EXPECT_EQ(Recover(folder.path()), 20);
}

TEST(FreeSpace, IsAskedForBeforeTheFirstByte) {
  struct Full : FileSystem {
    int64_t FreeBytes(const char*) override { return 50'000'000; }
  } files;
  TemporaryFolder folder;
  const ScopedFileSystem use(&files);
  EXPECT_EQ(ErrorOf([&] { RequireFreeSpace(folder.path() / "not/yet/there", 40'000'000); }), "");
  const std::string refusal = ErrorOf([&] { RequireFreeSpace(folder.path(), 49'000'000); });
  EXPECT_TRUE(Contains(refusal, folder.path().string() + " has 50.0 MB of free space, 50.5 MB"));
}

// --- Damage to a checkpoint that was whole.

class Damage : public testing::Test {
 protected:
  Damage() {
    WriteFiles(folder_.path(), 20);
    CheckCheckpoint(folder_.path());
    for (const std::string& name : folder_.Names()) content_[name] = ReadAll(folder_.path() / name);
  }
  std::string AnyName() { return std::next(content_.begin(), Below(content_.size()))->first; }
  std::ptrdiff_t Below(size_t count) { return static_cast<std::ptrdiff_t>(random_() % count); }
  void Put(const std::string& name, const std::string& content) { folder_.Write(name, content); }
  std::string Complaint() {
    return ErrorOf([&] { CheckCheckpoint(folder_.path()); });
  }

  TemporaryFolder folder_;
  std::map<std::string, std::string> content_;
  std::mt19937 random_{7};
};

TEST_F(Damage, EveryOneOfAThousandFlippedBitsIsNoticed) {
  for (int trial = 0; trial < 1000; ++trial) {
    const std::string name = AnyName();
    std::string changed = content_[name];
    const auto byte = static_cast<size_t>(Below(changed.size()));
    const auto bit = Below(8);
    changed[byte] = static_cast<char>(changed[byte] ^ (1 << bit));
    Put(name, changed);
    ASSERT_TRUE(Contains(Complaint(), name)) << "byte " << byte << ", bit " << bit;
    Put(name, content_[name]);
  }
  EXPECT_EQ(Complaint(), "");
}

TEST_F(Damage, EveryFlippedBitOfTheManifestIsNoticed) {
  const std::string whole = content_[kManifestName];
  for (size_t i = 0; i < 8 * whole.size(); ++i) {
    std::string changed = whole;
    changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << (i % 8)));
    Put(kManifestName, changed);
    ASSERT_TRUE(Contains(Complaint(), kManifestName)) << "bit " << i;
  }
}

TEST_F(Damage, TruncationsAndAdditionsAreNoticed) {
  for (const auto& [name, whole] : content_) {
    for (int trial = 0; trial < 50; ++trial) {
      Put(name, whole.substr(0, static_cast<size_t>(trial == 0 ? 0 : Below(whole.size()))));
      ASSERT_TRUE(Contains(Complaint(), name));
    }
    Put(name, whole + "\n");
    EXPECT_TRUE(Contains(Complaint(), name));
    Put(name, whole);
  }
}

TEST_F(Damage, SwappedFilesAreNoticed) {
  for (const auto& [a, content_a] : content_) {
    for (const auto& [b, content_b] : content_) {
      if (a >= b) continue;
      Put(a, content_b);
      Put(b, content_a);
      const std::string complaint = Complaint();
      EXPECT_TRUE(Contains(complaint, a) || Contains(complaint, b)) << complaint;
      Put(a, content_a);
      Put(b, content_b);
    }
  }
  // Of another checkpoint of the same run: whole in itself.
  TemporaryFolder other;
  WriteFiles(other.path(), 30);
  for (const auto& [name, whole] : content_) {
    const std::string foreign = ReadAll(other.path() / name);
    if (foreign == whole) continue;  // config.json
    Put(name, foreign);
    EXPECT_NE(Complaint(), "") << name;
    Put(name, whole);
  }
}

TEST_F(Damage, MissingFilesAreNoticedTheManifestToo) {
  for (const auto& [name, whole] : content_) {
    fs::remove(folder_.path() / name);
    EXPECT_TRUE(Contains(Complaint(), name));
    Put(name, whole);
  }
}

}  // namespace
}  // namespace hagane::io
