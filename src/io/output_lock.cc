#include "io/output_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/atomic_write.h"
#include "io/file_descriptor.h"
#include "io/file_system.h"

namespace hagane::io {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = ".hagane-lock-";
constexpr size_t kMaxRecord = 4096;
constexpr int kMaxRounds = 100;

std::optional<int64_t> ParseNumber(std::string_view digits) {
  int64_t number = 0;
  const auto* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, number);
  if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != end || number < 0) {
    return std::nullopt;
  }
  return number;
}

std::optional<int64_t> GenerationOf(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return ParseNumber(name.substr(kPrefix.size()));
}

fs::path LockFile(const fs::path& folder, int64_t generation) {
  return folder / fmt::format("{}{}", kPrefix, generation);
}

// A line of a file in /proc; empty where there is none.
std::string ReadLine(const fs::path& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t got = fd.valid() ? ::read(fd.get(), text, sizeof(text)) : 0;
  std::string line(text, static_cast<size_t>(std::max<ssize_t>(0, got)));
  return line.substr(0, line.find('\n'));
}

// When a process started, in ticks since the machine did: with the pid it names a process for good.
// Empty when there is no such process; a zombie is none.
std::string StartTime(int64_t pid) {
  const std::string stat = ReadLine(fmt::format("/proc/{}/stat", pid));
  // After the name in parentheses, which may hold anything: state is field 3, start time field 22.
  const size_t name_end = stat.rfind(')');
  if (name_end == stat.npos || name_end + 2 >= stat.size() || stat[name_end + 2] == 'Z') return "";
  size_t at = name_end + 2;
  for (int field = 3; field < 22; ++field) {
    at = stat.find(' ', at);
    if (at == stat.npos) return "";
    ++at;
  }
  return stat.substr(at, stat.find(' ', at) - at);
}

// Processes can be looked up by pid where both are equal: since the same boot of the same kernel,
// in the same container.
std::string ThisMachine() {
  char pids[128] = {};
  const ssize_t got = ::readlink("/proc/self/ns/pid", pids, sizeof(pids) - 1);
  return ReadLine("/proc/sys/kernel/random/boot_id") + "/" +
         std::string(pids, static_cast<size_t>(std::max<ssize_t>(0, got)));
}

struct Owner {
  std::string host, machine, start;
  int64_t pid = 0;

  static Owner This() {
    char name[256] = {};
    ::gethostname(name, sizeof(name) - 1);
    return {name, ThisMachine(), StartTime(::getpid()), ::getpid()};
  }
  // Everything but the heartbeat.
  std::string Text() const {
    return fmt::format("host {}\nmachine {}\nprocess {}\nstarted {}\n", host, machine, pid, start);
  }
};

// The heartbeat comes first and has always the same length, so that it can be written in place.
std::string BeatText(uint64_t beat) { return fmt::format("beat {:020}\n", beat); }

// The lock file as it is now; empty when it is gone.
std::optional<std::string> ReadRecord(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  try {
    return ReadFile(file, kMaxRecord);
  } catch (const Error&) {
    if (!fs::exists(file, error)) return std::nullopt;
    throw;
  }
}

std::optional<Owner> ParseOwner(std::string_view record) {
  const auto field = [&](std::string_view name) -> std::optional<std::string_view> {
    const std::string key = fmt::format("\n{} ", name);
    const size_t begin = record.find(key);
    if (begin == record.npos) return std::nullopt;
    const size_t from = begin + key.size(), end = record.find('\n', from);
    if (end == record.npos) return std::nullopt;
    return record.substr(from, end - from);
  };
  const auto host = field("host"), machine = field("machine"), pid = field("process"),
             start = field("started");
  if (!host || !machine || !pid || !start || !ParseNumber(*pid)) return std::nullopt;
  return Owner{std::string(*host), std::string(*machine), std::string(*start), *ParseNumber(*pid)};
}

std::string Describe(const std::optional<Owner>& owner) {
  return owner ? fmt::format("process {} on {}", owner->pid, owner->host) : "an unknown process";
}

enum class Life { kAlive, kGone, kUnknown };

Life LifeOf(const std::optional<Owner>& owner) {
  const std::string here = ThisMachine();
  if (!owner || here == "/" || owner->machine != here || owner->start.empty()) {
    return Life::kUnknown;
  }
  return StartTime(owner->pid) == owner->start ? Life::kAlive : Life::kGone;
}

// Lock files there, highest generation first.
std::vector<int64_t> Generations(const fs::path& folder) {
  std::vector<int64_t> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (const auto generation = GenerationOf(entry.path().filename().string())) {
      found.push_back(*generation);
    }
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

Error Refusal(const fs::path& folder, const fs::path& file, const std::optional<Owner>& owner) {
  return Error(fmt::format("another run ({}) is writing to {}", Describe(owner), folder.string()),
               fmt::format("wait for its end, or choose another --output_dir; if that run is "
                           "certainly gone, remove {}",
                           file.string()));
}

// Looks at the lock file until its heartbeat changes (throws), it is gone or has become another's
// (false), or it stood still for long enough (true).
bool StandsStill(const fs::path& folder, const fs::path& file, const std::string& record, Log& log,
                 const LockTimes& times) {
  const auto owner = ParseOwner(record);
  log.Info(fmt::format("{} is locked by {}; watching for {} s whether it is alive", folder.string(),
                       Describe(owner),
                       std::chrono::duration_cast<std::chrono::seconds>(times.watch).count()));
  const std::chrono::milliseconds pause = std::max(times.beat / 4, std::chrono::milliseconds(1));
  for (std::chrono::milliseconds watched{0}; watched < times.watch; watched += pause) {
    if (times.sleep) {
      times.sleep(pause);
    } else {
      std::this_thread::sleep_for(pause);
    }
    const auto now = ReadRecord(file);
    if (!now) return false;
    if (*now != record) throw Refusal(folder, file, ParseOwner(*now));
  }
  return true;
}

}  // namespace

bool IsLockName(std::string_view name) { return GenerationOf(name).has_value(); }

// The file of a held lock, and the thread that writes to it. Through the open file: should another
// run have taken over and removed it, this does not touch the other's.
class OutputLock::Heartbeat {
 public:
  Heartbeat(FileDescriptor fd, std::chrono::milliseconds every) : fd_(std::move(fd)) {
    // Signals are for the thread that looks at them.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this, every] { Beat(every); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~Heartbeat() {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  // Whether `file` is still the file that is held.
  bool Holds(const fs::path& file) const {
    struct stat held, there;
    return ::fstat(fd_.get(), &held) == 0 && ::stat(file.c_str(), &there) == 0 &&
           held.st_dev == there.st_dev && held.st_ino == there.st_ino;
  }

 private:
  void Beat(std::chrono::milliseconds every) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (uint64_t beat = 1; !wake_.wait_for(lock, every, [this] { return stop_; }); ++beat) {
      lock.unlock();
      // What fails here shows as a heartbeat that stands still. Other hosts see it after a sync.
      const std::string text = BeatText(beat);
      if (Files().WriteAt(fd_.get(), text.data(), text.size(), 0) > 0) Files().Sync(fd_.get());
      lock.lock();
    }
  }

  const FileDescriptor fd_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

OutputLock::OutputLock(const fs::path& folder, Log& log, const LockTimes& times) {
  // Only another taker makes a round end without a result, and of two at most one does so again.
  for (int round = 0; round < kMaxRounds; ++round) {
    // Records that were found to be stale, by generation.
    std::vector<std::pair<int64_t, std::string>> stale;
    bool changed = false;
    for (const int64_t generation : Generations(folder)) {
      const fs::path file = LockFile(folder, generation);
      const auto record = ReadRecord(file);
      changed = !record;
      if (changed) break;
      const auto owner = ParseOwner(*record);
      const Life life = LifeOf(owner);
      if (life == Life::kAlive) throw Refusal(folder, file, owner);
      changed = life == Life::kUnknown && !StandsStill(folder, file, *record, log, times);
      if (changed) break;
      stale.emplace_back(generation, *record);
    }
    if (changed) continue;

    const int64_t mine = stale.empty() ? 1 : stale.front().first + 1;
    file_ = LockFile(folder, mine);
    FileDescriptor fd(
        Files().Open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!fd.valid()) {
      if (errno == EEXIST) continue;  // another taker was first
      throw SystemError("cannot write", file_, errno);
    }
    const std::string record = BeatText(0) + Owner::This().Text();
    const ssize_t written = Files().Write(fd.get(), record.data(), record.size());
    if (written != static_cast<ssize_t>(record.size()) || Files().Sync(fd.get()) != 0) {
      const int reason =
          written < 0 || written == static_cast<ssize_t>(record.size()) ? errno : ENOSPC;
      Files().RemoveFile(file_.c_str());
      throw SystemError("cannot write", file_, reason);
    }
    // Somebody may have come and gone, and a third begun with a lower number, since the look above.
    // Whoever sees another's file after making its own steps back, so that no two go on.
    for (const int64_t generation : Generations(folder)) {
      if (generation == mine) continue;
      const auto other = ReadRecord(LockFile(folder, generation));
      const std::pair<int64_t, std::string> entry{generation, other.value_or("")};
      changed = changed || (other && std::find(stale.begin(), stale.end(), entry) == stale.end());
    }
    if (changed) {
      Files().RemoveFile(file_.c_str());
      continue;
    }
    for (const auto& [generation, old] : stale) {
      log.Info(fmt::format("{}: taking over from a run that ended without a word ({})",
                           folder.string(), Describe(ParseOwner(old))));
      RemoveTree(LockFile(folder, generation));
    }
    heartbeat_ = std::make_unique<Heartbeat>(std::move(fd), times.beat);
    return;
  }
  throw Error(fmt::format("cannot lock {}: others take its lock all the time", folder.string()),
              "choose another --output_dir");
}

OutputLock::~OutputLock() {
  const bool held = heartbeat_->Holds(file_);
  heartbeat_.reset();
  if (held) Files().RemoveFile(file_.c_str());
}

void OutputLock::Confirm() const {
  if (heartbeat_->Holds(file_)) return;
  throw FolderTakenOver(fmt::format("another run has taken {} over while this one stood still",
                                    ParentOf(file_).string()),
                        "choose another --output_dir");
}

}  // namespace hagane::io
