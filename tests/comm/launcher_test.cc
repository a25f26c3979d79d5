// Which launcher the environment speaks of.
#include "comm/launcher.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>

#include "base/error.h"

namespace hagane::comm {
namespace {

Launch Find(const std::map<std::string, std::string>& variables) {
  return FindLaunch([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(LauncherTest, NoLauncherIsOneProcess) { EXPECT_EQ(Find({}).abi, MpiAbi::kNone); }

TEST(LauncherTest, EachMpiIsKnownByItsVariables) {
  EXPECT_EQ(Find({{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}).abi, MpiAbi::kMpich);
  EXPECT_EQ(Find({{"PMI_SIZE", "4"}}).size, 4);
  EXPECT_EQ(Find({{"MV2_COMM_WORLD_SIZE", "2"}}).abi, MpiAbi::kMpich);
  EXPECT_EQ(Find({{"OMPI_COMM_WORLD_SIZE", "8"}}).abi, MpiAbi::kOpenMpi);
  EXPECT_EQ(Find({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "8"}, {"PMI_SIZE", "8"}}).abi,
            MpiAbi::kMpich);
  EXPECT_EQ(Find({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "8"}, {"PMIX_RANK", "1"}}).abi,
            MpiAbi::kOpenMpi);
}

TEST(LauncherTest, OneProcessUnderMpiNeedsNoMpi) {
  EXPECT_EQ(Find({{"PMI_SIZE", "1"}}).abi, MpiAbi::kNone);
  EXPECT_EQ(Find({{"OMPI_COMM_WORLD_SIZE", "1"}}).abi, MpiAbi::kNone);
  // A batch script of Slurm, outside srun, sees the number of tasks but is none.
  EXPECT_EQ(Find({{"SLURM_NTASKS", "8"}}).abi, MpiAbi::kNone);
}

TEST(LauncherTest, ProcessesThatCannotFindEachOtherAreRefused) {
  EXPECT_THROW(Find({{"WORLD_SIZE", "2"}, {"RANK", "0"}}), Error);
  EXPECT_THROW(Find({{"LOCAL_WORLD_SIZE", "2"}}), Error);
  EXPECT_THROW(Find({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}), Error);
  EXPECT_EQ(Find({{"WORLD_SIZE", "1"}}).abi, MpiAbi::kNone);
  // The guides export these for one process or for MPI; they say nothing about others.
  EXPECT_EQ(Find({{"MASTER_ADDR", "10.0.0.1"}, {"CCL_WORKER_COUNT", "2"}}).abi, MpiAbi::kNone);
}

// The launcher's end of its connection to this process.
class HydraTest : public testing::Test {
 protected:
  HydraTest() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    setenv("PMI_FD", std::to_string(ends_[0]).c_str(), 1);
  }
  ~HydraTest() override {
    for (const char* name : {"PMI_FD", "MPI_LOCALRANKID"}) unsetenv(name);
    for (const int end : ends_) close(end);
  }
  std::string Heard() const {
    char text[100];
    const ssize_t size = recv(ends_[1], text, sizeof(text), MSG_DONTWAIT);
    return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
  }
  int ends_[2];
};

TEST_F(HydraTest, IsToldTheEndInItsWords) {
  setenv("MPI_LOCALRANKID", "0", 1);
  EXPECT_TRUE(UnderHydra());
  EndLaunch(3);
  EXPECT_EQ(Heard(), "cmd=abort exitcode=3\n");
  ASSERT_GT(write(ends_[1], "cmd=finalize_ack\n", 17), 0);
  LeaveLaunch();
  EXPECT_EQ(Heard(), "cmd=finalize\n");
  char left;
  EXPECT_LT(recv(ends_[0], &left, 1, MSG_DONTWAIT), 0) << "the answer was not read";
}

TEST_F(HydraTest, AnotherLauncherHearsNothing) {
  EXPECT_FALSE(UnderHydra());
  EndLaunch(3);
  LeaveLaunch();
  EXPECT_EQ(Heard(), "");
}

}  // namespace
}  // namespace hagane::comm
