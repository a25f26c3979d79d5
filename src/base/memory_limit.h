// How much memory the processes of a run have on this machine, and may still take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace hagane {

struct MemoryLimit {
  int64_t total = 0;  // bytes of what limits the processes
  int64_t free = 0;   // what they may still take of them, together
  std::string what;   // "this machine", "its control group", "ulimit -v", "ulimit -d"
};

// The tightest of: MemAvailable of the machine, the memory limit of the process's control group and
// those above it (versions 1 and 2; file cache that the kernel gives back counts as free), and the
// resource limits of address space and data, which each of `processes` has to itself. Where nothing
// can be read, `free` is INT64_MAX. `root`: of /proc and /sys, for tests.
MemoryLimit FindMemoryLimit(const std::filesystem::path& root = "/", int processes = 1);

// Bytes of memory the process holds now; 0 where that is not known.
int64_t ResidentMemory(const std::filesystem::path& root = "/");

}  // namespace hagane
