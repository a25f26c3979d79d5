// How much memory something takes at its peak, measured by the system.
#pragma once

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"

namespace hagane {

// The sanitizers' own memory hides everybody else's.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // GCC
inline constexpr bool kMemoryIsMeasurable = false;
#elif defined(__has_feature)  // clang
inline constexpr bool kMemoryIsMeasurable =
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
inline constexpr bool kMemoryIsMeasurable = true;
#endif

// "VmHWM" (the peak) or "VmRSS" of this process, in bytes.
inline int64_t MemoryFigure(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1)) * 1024;
  }
  return -1;
}

// Runs `action` in a process of its own, whose peak starts anew; returns by how many bytes it rose,
// -1 when `action` did not return true.
template <class Action>
int64_t MemoryCost(const Action& action) {
  ::malloc_trim(0);  // what is free already would be used again, unseen
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    const int64_t before = MemoryFigure("VmRSS");
    const bool as_expected = action();
    const int64_t cost = as_expected ? MemoryFigure("VmHWM") - before : -1;
    const bool told = ::write(ends[1], &cost, sizeof(cost)) == sizeof(cost);
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  int64_t cost = -1;
  if (::read(ends[0], &cost, sizeof(cost)) != sizeof(cost)) cost = -1;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return cost;
}

inline constexpr int64_t kMostExtraMemory = int64_t{64} << 20;

// Holds that reading `file` throws an Error with `reason` in it and takes at most the file's size
// and 64 MB.
template <class Read>
testing::AssertionResult IsRefusedCheaply(const std::filesystem::path& file,
                                          const std::string& reason, const Read& read) {
  std::string what;
  const auto refuse = [&] {
    try {
      read();
    } catch (const Error& error) {
      what = error.what();
    }
    return what.find(reason) != what.npos;
  };
  if (!kMemoryIsMeasurable) {
    if (refuse()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "\"" << what << "\" instead of \"" << reason << "\"";
  }
  const int64_t cost = MemoryCost(refuse);
  if (cost < 0) {
    refuse();  // here, to see what it says
    return testing::AssertionFailure() << "\"" << what << "\" instead of \"" << reason << "\"";
  }
  const auto allowed = static_cast<int64_t>(std::filesystem::file_size(file)) + kMostExtraMemory;
  if (cost <= allowed) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << file << " took " << (cost >> 20) << " MB, " << (allowed >> 20) << " MB are allowed";
}

}  // namespace hagane
