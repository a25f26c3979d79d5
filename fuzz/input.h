// What the targets share: their input as a file, as parts, as files of a folder.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hagane::fuzz {

// The target: feeds `input` to one reader and holds what it grants against what it promises. An
// Error that leaves it is a refusal, and fine.
void Read(std::string_view input);

inline void Require(bool promise) {
  if (!promise) abort();
}

// Several texts in one input, with lines "=====" between them. `count` of them; the last ones are
// empty where the input has fewer, and the last takes what is left.
inline std::vector<std::string_view> Parts(std::string_view input, size_t count) {
  static constexpr std::string_view kLine = "\n=====\n";
  std::vector<std::string_view> parts(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t end = i + 1 < count ? input.find(kLine) : input.npos;
    parts[i] = input.substr(0, end);
    input = end == input.npos ? "" : input.substr(end + kLine.size());
  }
  return parts;
}

// Takes the first byte of the input off: a choice of the target.
inline unsigned TakeByte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto byte = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  return byte;
}

// A file that lives in memory, for readers of a single one.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : descriptor_(memfd_create("input", MFD_CLOEXEC)) {
    Require(descriptor_ >= 0 && write(descriptor_, content.data(), content.size()) ==
                                    static_cast<ssize_t>(content.size()));
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  const int descriptor_;
};

// A folder for readers of several files, in TMPDIR. One per process, as a static object: making one
// for each input would be most of the time.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "hagane-fuzz-XXXXXX";
    Require(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path Write(const std::string& name, std::string_view content) const {
    const std::filesystem::path file = path_ / name;
    const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    Require(descriptor >= 0 && write(descriptor, content.data(), content.size()) ==
                                   static_cast<ssize_t>(content.size()));
    close(descriptor);
    return file;
  }
  // An empty part stands for a file that is not there.
  void WriteOrRemove(const std::string& name, std::string_view content) const {
    if (content.empty()) {
      unlink((path_ / name).c_str());
    } else {
      Write(name, content);
    }
  }

 private:
  std::filesystem::path path_;
};

}  // namespace hagane::fuzz
