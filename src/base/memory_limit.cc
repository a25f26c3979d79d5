#include "base/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace hagane {
namespace fs = std::filesystem;
namespace {

// Larger limits mean "none": version 1 writes a page-rounded INT64_MAX.
constexpr int64_t kNoLimit = int64_t{1} << 60;

// The first number of a file ("max" and absent files give none).
std::optional<int64_t> Number(const fs::path& path) {
  std::ifstream file(path);
  int64_t value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

// The number after `key` in a file of lines "key number" or "key: number kB".
std::optional<int64_t> Entry(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, unit;
    int64_t value = 0;
    if (!(words >> name >> value) || name != key) continue;
    return words >> unit && unit == "kB" ? value * 1024 : value;
  }
  return std::nullopt;
}

void Tighten(const MemoryLimit& other, MemoryLimit* limit) {
  if (other.total < kNoLimit && other.free < limit->free) *limit = other;
}

struct ControlGroupFiles {
  const char* mount;
  const char* limit;
  const char* usage;
  const char* reclaimable;  // key in memory.stat
};
constexpr ControlGroupFiles kVersion1 = {"sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                         "memory.usage_in_bytes", "total_inactive_file"};
constexpr ControlGroupFiles kVersion2 = {"sys/fs/cgroup", "memory.max", "memory.current",
                                         "inactive_file"};

void TightenByGroup(const fs::path& folder, const ControlGroupFiles& files, MemoryLimit* limit) {
  const auto most = Number(folder / files.limit);
  const auto used = Number(folder / files.usage);
  if (!most || !used) return;
  const int64_t cache = Entry(folder / "memory.stat", files.reclaimable).value_or(0);
  const int64_t taken = std::max<int64_t>(0, *used - cache);
  Tighten({*most, std::max<int64_t>(0, *most - taken), "its control group"}, limit);
}

// A group is limited by those above it too. Inside a container the path may be one that only the
// host knows: then the mount itself is the container's group.
void TightenByGroups(const fs::path& root, MemoryLimit* limit) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool version2 = controllers.empty();
    if (!version2 && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    const ControlGroupFiles& files = version2 ? kVersion2 : kVersion1;
    const fs::path mount = root / files.mount;
    fs::path group = fs::path(line.substr(second + 1)).relative_path();
    for (;; group = group.parent_path()) {
      TightenByGroup(mount / group, files, limit);
      if (group.empty()) break;
    }
  }
}

void TightenByResource(int resource, const char* what, int64_t used, int processes,
                       MemoryLimit* limit) {
  rlimit values = {};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &values) != 0) return;
  if (values.rlim_cur == RLIM_INFINITY || values.rlim_cur > static_cast<rlim_t>(kNoLimit)) return;
  const auto most = static_cast<int64_t>(values.rlim_cur);
  Tighten({most * processes, std::max<int64_t>(0, most - used) * processes, what}, limit);
}

}  // namespace

MemoryLimit FindMemoryLimit(const fs::path& root, int processes) {
  MemoryLimit limit;
  limit.free = std::numeric_limits<int64_t>::max();
  const fs::path meminfo = root / "proc/meminfo";
  const auto total = Entry(meminfo, "MemTotal:"), available = Entry(meminfo, "MemAvailable:");
  if (total && available) limit = {*total, *available, "this machine"};
  TightenByGroups(root, &limit);
  const fs::path status = root / "proc/self/status";
  const auto tighten = [&](int resource, const char* what, const char* used) {
    TightenByResource(resource, what, Entry(status, used).value_or(0), processes, &limit);
  };
  tighten(RLIMIT_AS, "ulimit -v", "VmSize:");
  tighten(RLIMIT_DATA, "ulimit -d", "VmData:");
  return limit;
}

int64_t ResidentMemory(const fs::path& root) {
  return Entry(root / "proc/self/status", "VmRSS:").value_or(0);
}

}  // namespace hagane
