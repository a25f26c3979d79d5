// One writer for an output folder, also across hosts that share it. flock is not trusted: network
// file systems answer it in their own ways.
//
// The lock is a file `.hagane-lock-<n>` that says host, process and, every two seconds, a higher
// number: its heartbeat. The highest n owns the folder. Every file is made with O_EXCL, so of
// several takers exactly one gets n + 1.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "base/log.h"

namespace hagane::io {

struct LockTimes {
  std::chrono::milliseconds beat{2000};
  // A lock of another host whose heartbeat stands still for this long is stale.
  std::chrono::milliseconds watch{30'000};
  // Sleeps while watching; may throw to give up. Empty: sleeps.
  std::function<void(std::chrono::milliseconds)> sleep;
};

class FolderTakenOver : public Error {
  using Error::Error;
};

class OutputLock {
 public:
  // Takes the folder (which exists). Where another run holds it, throws an Error that names host
  // and process. A lock is stale, and taken over with a line in the log, when its process is gone
  // from this machine; when its process cannot be seen from here (another host or container, or a
  // lock file that was cut off), its heartbeat is watched first. Clocks are never compared.
  explicit OutputLock(const std::filesystem::path& folder, Log& log, const LockTimes& times = {});
  // Ends the heartbeat and removes the file.
  ~OutputLock();
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;

  // Throws FolderTakenOver when another run has taken the folder over, which may happen when this
  // process was suspended for longer than the watch: asked before anything is written. Thread safe.
  void Confirm() const;

 private:
  class Heartbeat;
  std::filesystem::path file_;
  std::unique_ptr<Heartbeat> heartbeat_;
};

// The files above, by name.
bool IsLockName(std::string_view name);

}  // namespace hagane::io
