#include "base/run_context.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace hagane {
namespace {

class LinesLog : public Log {
 public:
  void Info(const std::string& line) override { lines.push_back(line); }
  void Warning(const std::string& line) override { lines.push_back(line); }
  std::vector<std::string> lines;
};

// Sets a variable for one scope; an empty value removes it.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    Set(value);
  }
  ~ScopedVariable() { Set(old_.value_or("")); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void Set(const std::string& value) {
    if (value.empty()) {
      unsetenv(name_);
    } else {
      setenv(name_, value.c_str(), 1);
    }
  }
  const char* name_;
  std::optional<std::string> old_;
};

cpu_set_t ThreadMask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof(mask), &mask);
  return mask;
}

class MakeRunContextTest : public testing::Test {
 protected:
  ScopedVariable no_threads_{"OMP_NUM_THREADS", ""};
  ScopedVariable no_isa_{"HAGANE_ISA", ""};
  LinesLog log_;
};

TEST_F(MakeRunContextTest, TakesTheBestLevelAndAllCoresByItself) {
  const RunContext context = MakeRunContext("", 0, log_);
  EXPECT_EQ(context.isa, context.cpu.best);
  EXPECT_EQ(context.threads, AvailableCores());
  EXPECT_EQ(context.log, &log_);
  EXPECT_TRUE(log_.lines.empty());
}

TEST_F(MakeRunContextTest, TheVariableChoosesTheLevelAndTheFlagWinsOverIt) {
  const ScopedVariable variable("HAGANE_ISA", "ref");
  EXPECT_EQ(MakeRunContext("", 1, log_).isa, Isa::kReference);
  const Isa best = DetectCpu().best;
  EXPECT_EQ(MakeRunContext(std::string(IsaName(best)), 1, log_).isa, best);
}

TEST_F(MakeRunContextTest, ALevelThatTheCpuLacksIsAUsageError) {
  if (DetectCpu().best == Isa::kAvx512) GTEST_SKIP() << "this CPU has every level";
  EXPECT_THROW(MakeRunContext("avx512", 1, log_), Error);
  const ScopedVariable variable("HAGANE_ISA", "avx512");
  try {
    MakeRunContext("", 1, log_);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("HAGANE_ISA"), std::string::npos);
  }
}

TEST_F(MakeRunContextTest, MoreThreadsThanCoresAreCutWithAWarning) {
  const int cores = AvailableCores();
  EXPECT_EQ(MakeRunContext("", cores + 1, log_).threads, cores);
  ASSERT_EQ(log_.lines.size(), 1u);
  EXPECT_NE(log_.lines[0].find(std::to_string(cores + 1)), std::string::npos);
}

TEST_F(MakeRunContextTest, OmpNumThreadsIsHonouredUpToTheCoresAndTheFlagWins) {
  const ScopedVariable variable("OMP_NUM_THREADS", "1,2");
  EXPECT_EQ(MakeRunContext("", 0, log_).threads, 1);
  EXPECT_TRUE(log_.lines.empty());
  const ScopedVariable too_many("OMP_NUM_THREADS", "100000");
  EXPECT_EQ(MakeRunContext("", 0, log_).threads, AvailableCores());
  EXPECT_EQ(log_.lines.size(), 1u);
  EXPECT_EQ(MakeRunContext("", 1, log_).threads, 1);
}

TEST_F(MakeRunContextTest, AnUnreadableOmpNumThreadsIsIgnoredWithAWarning) {
  const ScopedVariable variable("OMP_NUM_THREADS", "many");
  EXPECT_EQ(MakeRunContext("", 0, log_).threads, AvailableCores());
  EXPECT_EQ(log_.lines.size(), 1u);
}

TEST_F(MakeRunContextTest, NegativeThreadsAreAUsageError) {
  EXPECT_THROW(MakeRunContext("", -1, log_), Error);
}

TEST_F(MakeRunContextTest, ParallelRegionsGetTheChosenThreads) {
  const RunContext context = MakeRunContext("", 0, log_);
  int threads = 0;
#pragma omp parallel
#pragma omp single
  threads = omp_get_num_threads();
  EXPECT_EQ(threads, context.threads);
}

TEST_F(MakeRunContextTest, TheCallingThreadKeepsItsMask) {
  const cpu_set_t before = ThreadMask();
  MakeRunContext("", 0, log_);
  const cpu_set_t after = ThreadMask();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST_F(MakeRunContextTest, WorkersSitOnDistinctCores) {
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY", "GOMP_CPU_AFFINITY"}) {
    if (std::getenv(name) != nullptr) GTEST_SKIP() << name << " is set: threads are the user's";
  }
  const RunContext context = MakeRunContext("", 0, log_);
  if (context.threads < 2) GTEST_SKIP() << "one core";
  std::vector<cpu_set_t> masks(static_cast<size_t>(context.threads));
#pragma omp parallel num_threads(context.threads)
  masks[static_cast<size_t>(omp_get_thread_num())] = ThreadMask();
  for (size_t i = 1; i < masks.size(); ++i) {
    for (size_t j = i + 1; j < masks.size(); ++j) {
      cpu_set_t both;
      CPU_AND(&both, &masks[i], &masks[j]);
      EXPECT_EQ(CPU_COUNT(&both), 0) << "workers " << i << " and " << j;
    }
    EXPECT_LT(CPU_COUNT(&masks[i]), CPU_COUNT(&masks[0])) << "worker " << i << " is not pinned";
  }
}

TEST_F(MakeRunContextTest, AMaskOfOneCpuGivesOneThread) {
  const cpu_set_t before = ThreadMask();
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(AvailableCores(), 1);
  EXPECT_EQ(MakeRunContext("", 0, log_).threads, 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace hagane
