#include "base/memory_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <limits>
#include <string>

namespace hagane {
namespace {

namespace fs = std::filesystem;

// A made-up /proc and /sys.
class MemoryLimitTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ =
        fs::path(testing::TempDir()) /
        ("memory_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    Write("proc/meminfo",
          "MemTotal:       1000000 kB\nMemFree:  1000 kB\nMemAvailable:    600000 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void Write(const fs::path& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  fs::path root_;
};

TEST_F(MemoryLimitTest, TheMachineLimitsByWhatIsAvailable) {
  const MemoryLimit limit = FindMemoryLimit(root_);
  EXPECT_EQ(limit.total, 1'000'000 * 1024);
  EXPECT_EQ(limit.free, 600'000 * 1024);
  EXPECT_EQ(limit.what, "this machine");
}

TEST_F(MemoryLimitTest, AGroupAboveLimitsToo) {
  Write("proc/self/cgroup", "0::/jobs/one\n");
  Write("sys/fs/cgroup/jobs/one/memory.max", "max\n");
  Write("sys/fs/cgroup/jobs/one/memory.current", "10\n");
  Write("sys/fs/cgroup/jobs/memory.max", "5000\n");
  Write("sys/fs/cgroup/jobs/memory.current", "3000\n");
  Write("sys/fs/cgroup/jobs/memory.stat", "anon 1\ninactive_file 700\n");
  const MemoryLimit limit = FindMemoryLimit(root_);
  EXPECT_EQ(limit.total, 5000);
  EXPECT_EQ(limit.free, 2700);  // cache that is given back counts as free
  EXPECT_EQ(limit.what, "its control group");
}

TEST_F(MemoryLimitTest, TheMountIsTheContainersGroup) {
  Write("proc/self/cgroup", "4:cpu:/\n3:memory,hugetlb:/known/to/the/host/only\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "8000\n");
  Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "9000\n");
  const MemoryLimit limit = FindMemoryLimit(root_);
  EXPECT_EQ(limit.total, 8000);
  EXPECT_EQ(limit.free, 0);
}

TEST_F(MemoryLimitTest, VersionOnesLargestNumberIsNoLimit) {
  Write("proc/self/cgroup", "3:memory:/\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "9223372036854771000\n");
  EXPECT_EQ(FindMemoryLimit(root_).what, "this machine");
}

TEST_F(MemoryLimitTest, NothingToReadIsNoLimit) {
  EXPECT_EQ(FindMemoryLimit(root_ / "nowhere").free, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ResidentMemory(root_ / "nowhere"), 0);
}

TEST(MemoryLimitOfThisProcess, EachProcessHasItsResourceLimitToItself) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  const rlimit lower = {rlim_t{1} << 50, before.rlim_max};
  if (lower.rlim_cur > before.rlim_cur) GTEST_SKIP() << "a limit is set already";
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &lower), 0);
  const MemoryLimit one = FindMemoryLimit("/nowhere"), three = FindMemoryLimit("/nowhere", 3);
  setrlimit(RLIMIT_DATA, &before);
  EXPECT_EQ(one.total, int64_t{1} << 50);
  EXPECT_EQ(three.total, 3 * one.total);
  EXPECT_EQ(three.free, 3 * one.free);
}

TEST(MemoryLimitOfThisProcess, ResidentMemoryGrowsWithWhatIsTouched) {
  const int64_t before = ResidentMemory();
  const std::string touched(size_t{64} << 20, 'x');
  EXPECT_GT(ResidentMemory(), before + (int64_t{60} << 20)) << touched.size();
}

}  // namespace
}  // namespace hagane
