#include "io/atomic_write.h"

#include <sys/stat.h>

#include "tests/io/temporary_folder.h"

namespace hagane::io {
namespace {

namespace fs = std::filesystem;

TEST(WriteFileAtomically, ReplacesTheContentAndLeavesNothingElse) {
  TemporaryFolder folder;
  WriteFileAtomically(folder.path() / "a.json", "old content");
  WriteFileAtomically(folder.path() / "a.json", "new");
  EXPECT_EQ(ReadAll(folder.path() / "a.json"), "new");
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"a.json"});
}

TEST(WriteFileAtomically, NamesThePathWhenTheFolderIsMissing) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "missing" / "a.json";
  EXPECT_TRUE(Contains(ErrorOf([&] { WriteFileAtomically(path, "x"); }), path.string()));
}

TEST(WriteFileAtomically, LeavesNothingWhenTheRenameFails) {
  TemporaryFolder folder;
  fs::create_directories(folder.path() / "a" / "inside");
  EXPECT_TRUE(
      Contains(ErrorOf([&] { WriteFileAtomically(folder.path() / "a", "x"); }), "cannot write"));
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"a", "a/inside"}));
}

TEST(AtomicFolder, AppearsOnlyAtCommit) {
  TemporaryFolder folder;
  const fs::path final_path = folder.path() / "out" / "checkpoint-1";
  {
    AtomicFolder atomic(final_path);
    WriteFileAtomically(atomic.path() / "a", "1");
    EXPECT_FALSE(fs::exists(final_path));
    atomic.Commit();
    EXPECT_EQ(ReadAll(final_path / "a"), "1");
  }
  EXPECT_EQ(folder.Names(),
            (std::vector<std::string>{"out", "out/checkpoint-1", "out/checkpoint-1/a"}));
}

TEST(AtomicFolder, LeavesNothingAfterAnException) {
  TemporaryFolder folder;
  try {
    AtomicFolder atomic(folder.path() / "c");
    fs::create_directory(atomic.path() / "sub");
    WriteFileAtomically(atomic.path() / "sub" / "a", "1");
    throw Error("the disk is full");
  } catch (const Error&) {
  }
  EXPECT_TRUE(folder.Names().empty());
}

TEST(AtomicFolder, ReplacesAFolderOfThatNameWhole) {
  TemporaryFolder folder;
  folder.Write("c/old", "old");
  {
    AtomicFolder atomic(folder.path() / "c/");  // the slash is no other name
    WriteFileAtomically(atomic.path() / "new", "new");
    EXPECT_EQ(ReadAll(folder.path() / "c/old"), "old");
    atomic.Commit();
  }
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"c", "c/new"}));
}

TEST(AtomicFolder, IsPrivateUntilItIsDoneAndThenLikeAnyFolder) {
  TemporaryFolder folder;
  fs::create_directory(folder.path() / "plain");
  AtomicFolder atomic(folder.path() / "c");
  EXPECT_EQ(fs::status(atomic.path().parent_path()).permissions(), fs::perms::owner_all);
  atomic.Commit();
  EXPECT_EQ(fs::status(folder.path() / "c").permissions(),
            fs::status(folder.path() / "plain").permissions());
}

TEST(ReadFile, RefusesWhatIsTooLargeOrNoFile) {
  TemporaryFolder folder;
  const fs::path file = folder.Write("a", "12345");
  EXPECT_EQ(ReadFile(file, 5), "12345");
  EXPECT_TRUE(Contains(ErrorOf([&] { ReadFile(file, 4); }), "larger"));
  EXPECT_TRUE(Contains(ErrorOf([&] { ReadFile(folder.path(), 4); }), "is a folder"));
  EXPECT_TRUE(Contains(ErrorOf([&] { ReadFile(folder.path() / "b", 4); }), "No such file"));
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(Contains(ErrorOf([&] { ReadFile(folder.path() / "pipe", 4); }), "pipe"));
}

}  // namespace
}  // namespace hagane::io
