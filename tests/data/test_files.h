// Folders, files, logs and error checks for the tests of this room.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"

namespace hagane::data {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "hagane-data-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path Write(const std::filesystem::path& name, std::string_view content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

class KeptLog : public Log {
 public:
  void Info(const std::string& line) override { infos.push_back(line); }
  void Warning(const std::string& line) override { warnings.push_back(line); }
  std::vector<std::string> infos, warnings;
};

// The message and the hint of the Error that `action` throws must hold all of `parts`.
template <class Action>
void ExpectError(Action&& action, const std::vector<std::string>& parts) {
  try {
    action();
  } catch (const Error& error) {
    const std::string said = std::string(error.what()) + "\n" + error.hint();
    for (const std::string& part : parts) {
      EXPECT_NE(said.find(part), std::string::npos) << "no \"" << part << "\" in: " << said;
    }
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << said;
    return;
  }
  ADD_FAILURE() << "no error";
}

inline std::filesystem::path Shared(const char* path) {
  return std::filesystem::path(HAGANE_SHARED_DIR) / path;
}

}  // namespace hagane::data

#define HAGANE_SKIP_WITHOUT(needed)                                                       \
  if (!std::filesystem::exists(needed)) {                                                 \
    GTEST_SKIP() << "real data is not there: " << std::filesystem::path(needed).string(); \
  }
