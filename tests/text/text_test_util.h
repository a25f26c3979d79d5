// Folders with tokenizer files for tests, and the shared data when it is there.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "text/tokenizer.h"

namespace hagane::text {

// Removed with everything in it at the end of its scope.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "hagane_text_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  TestFolder& Write(const std::string& name, const std::string& content) {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return *this;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class KeepingLog : public Log {
 public:
  void Info(const std::string& line) override { lines.push_back(line); }
  void Warning(const std::string& line) override { lines.push_back(line); }
  std::vector<std::string> lines;
};

inline std::unique_ptr<Tokenizer> Load(const std::filesystem::path& folder,
                                       const std::string& model_type) {
  NullLog log;
  return LoadTokenizer(folder, model_type, log);
}

// What loading the folder says, or "" when it succeeds.
inline std::string LoadError(const std::filesystem::path& folder, const std::string& model_type) {
  try {
    Load(folder, model_type);
    return "";
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty()) << error.what();
    return error.what();
  }
}

// One token a line, so that ids are easy to count in tests.
inline std::string Lines(const std::vector<std::string>& tokens) {
  std::string lines;
  for (const std::string& token : tokens) lines += token + "\n";
  return lines;
}

inline std::filesystem::path Shared(const std::string& path) {
  return std::filesystem::path(HAGANE_SHARED_DIR) / path;
}

}  // namespace hagane::text

#define HAGANE_SKIP_WITHOUT(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << (path).string() << " is not there"
