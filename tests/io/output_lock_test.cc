#include "io/output_lock.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "io/atomic_write.h"
#include "tests/io/temporary_folder.h"

namespace hagane::io {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class LineLog : public Log {
 public:
  void Info(const std::string& line) override { lines += line + "\n"; }
  void Warning(const std::string& line) override { lines += line + "\n"; }
  std::string lines;
};

constexpr const char* kLock = ".hagane-lock-1";

// No time passes: each sleep only calls `action`.
LockTimes Instant(std::function<void()> action = [] {}) {
  LockTimes times;
  times.sleep = [action = std::move(action)](milliseconds) { action(); };
  return times;
}

// A lock as another machine's run writes it.
std::string Foreign(int beat) {
  return "beat 0000000000000000000" + std::to_string(beat) +
         "\nhost far\nmachine another\nprocess 7\nstarted 1\n";
}

// Runs `action` in a process that then ends without running destructors, as after kill -9.
template <class Action>
void InKilledProcess(Action action) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    action();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(OutputLock, RefusesASecondRunAndLeavesNothing) {
  TemporaryFolder folder;
  NullLog log;
  {
    const OutputLock lock(folder.path(), log);
    lock.Confirm();
    const std::string refusal = ErrorOf([&] { OutputLock second(folder.path(), log); });
    EXPECT_TRUE(Contains(refusal, "another run (process " + std::to_string(::getpid()) + " on "));
    EXPECT_TRUE(Contains(refusal, folder.path().string()));
    EXPECT_EQ(folder.Names(), std::vector<std::string>{kLock});
  }
  EXPECT_TRUE(folder.Names().empty());
  const OutputLock again(folder.path(), log);
}

TEST(OutputLock, IsRemovedWhenTheRunEndsWithAnError) {
  TemporaryFolder folder;
  NullLog log;
  EXPECT_EQ(ErrorOf([&] {
              const OutputLock lock(folder.path(), log);
              throw Error("no rows");
            }),
            "no rows | ");
  EXPECT_TRUE(folder.Names().empty());
}

TEST(OutputLock, TakesOverAtOnceFromAProcessOfThisMachineThatIsGone) {
  TemporaryFolder folder;
  InKilledProcess([&] {
    NullLog log;
    new OutputLock(folder.path(), log);
  });
  ASSERT_EQ(folder.Names(), std::vector<std::string>{kLock});
  LineLog log;
  LockTimes times = Instant([] { FAIL() << "watched a process that is known to be gone"; });
  const OutputLock lock(folder.path(), log, times);
  lock.Confirm();
  EXPECT_TRUE(Contains(log.lines, "taking over"));
  EXPECT_EQ(folder.Names(), std::vector<std::string>{".hagane-lock-2"});
}

TEST(OutputLock, APidThatWasGivenToAnotherProcessIsGone) {
  TemporaryFolder folder;
  LineLog log;
  std::string record;
  {
    const OutputLock lock(folder.path(), log);
    record = ReadAll(folder.path() / kLock);
  }
  folder.Write(kLock, record);
  EXPECT_NE(ErrorOf([&] { OutputLock second(folder.path(), log); }), "");
  record.replace(record.find("\nstarted ") + 9, 1, "9");
  record.insert(record.find("\nstarted ") + 9, "9");
  folder.Write(kLock, record);
  EXPECT_EQ(ErrorOf([&] { OutputLock second(folder.path(), log); }), "");
}

TEST(OutputLock, WatchesTheHeartbeatOfAnotherHost) {
  TemporaryFolder folder;
  LineLog log;
  int beat = 0, looks = 0;
  folder.Write(kLock, Foreign(beat));
  const std::string refusal = ErrorOf([&] {
    OutputLock lock(folder.path(), log, Instant([&] {
                      if (++looks == 30) folder.Write(kLock, Foreign(++beat));
                    }));
  });
  EXPECT_TRUE(Contains(refusal, "another run (process 7 on far) is writing to"));
  EXPECT_EQ(looks, 30);

  milliseconds watched{0};
  LockTimes times;
  times.sleep = [&](milliseconds pause) { watched += pause; };
  const OutputLock lock(folder.path(), log, times);
  EXPECT_EQ(watched, milliseconds(30'000));
  EXPECT_EQ(folder.Names(), std::vector<std::string>{".hagane-lock-2"});
}

TEST(OutputLock, AFileThatWasCutOffIsWatchedToo) {
  TemporaryFolder folder;
  LineLog log;
  folder.Write(kLock, "");
  int looks = 0;
  const OutputLock lock(folder.path(), log, Instant([&] { ++looks; }));
  EXPECT_GT(looks, 10);
  EXPECT_TRUE(Contains(log.lines, "unknown process"));
}

TEST(OutputLock, TakesWhatTheOtherGivesBackWhileItIsWatched) {
  TemporaryFolder folder;
  LineLog log;
  folder.Write(kLock, Foreign(0));
  const OutputLock lock(folder.path(), log, Instant([&] { fs::remove(folder.path() / kLock); }));
  EXPECT_EQ(folder.Names(), std::vector<std::string>{kLock});
}

TEST(OutputLock, OfTwoTakersExactlyOneWins) {
  for (int trial = 0; trial < 50; ++trial) {
    TemporaryFolder folder;
    folder.Write(kLock, Foreign(0));
    constexpr int kTakers = 4;
    std::atomic<int> ready = 0, refused = 0;
    std::vector<std::unique_ptr<OutputLock>> won(kTakers);
    std::vector<std::thread> takers;
    for (int i = 0; i < kTakers; ++i) {
      takers.emplace_back([&, i] {
        NullLog log;
        ++ready;
        while (ready < kTakers) std::this_thread::yield();
        try {
          won[static_cast<size_t>(i)] = std::make_unique<OutputLock>(folder.path(), log, Instant());
        } catch (const Error&) {
          ++refused;
        }
      });
    }
    for (std::thread& taker : takers) taker.join();
    ASSERT_EQ(refused, kTakers - 1) << trial;
    for (const auto& lock : won) {
      if (lock) lock->Confirm();
    }
    ASSERT_EQ(folder.Names().size(), 1u) << trial;
  }
}

TEST(OutputLock, BeatsAndNoticesThatItWasTakenOver) {
  TemporaryFolder folder;
  NullLog log;
  LockTimes times;
  times.beat = milliseconds(1);
  const OutputLock lock(folder.path(), log, times);
  const std::string before = ReadAll(folder.path() / kLock);
  while (ReadAll(folder.path() / kLock) == before) std::this_thread::yield();
  lock.Confirm();
  // What a taker on another host does.
  fs::remove(folder.path() / kLock);
  folder.Write(".hagane-lock-2", Foreign(0));
  EXPECT_TRUE(Contains(ErrorOf([&] { lock.Confirm(); }), "taken"));
}

}  // namespace
}  // namespace hagane::io
