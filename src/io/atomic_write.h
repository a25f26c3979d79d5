// Write-then-rename: a reader sees the old content or the new one, never a half.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace hagane::io {

// Whole file: temporary name in the same folder, write, fsync, rename, fsync of the folder.
// Throws an Error naming path and reason; nothing is left over.
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

// Whole folder: files are written into path(), Commit() fsyncs them, renames the folder to its
// final name (replacing a folder of that name, if any) and fsyncs the parent. Without Commit the
// destructor removes everything.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::filesystem::path final_path);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  const std::filesystem::path& path() const { return temporary_; }
  void Commit();

 private:
  std::filesystem::path final_;
  std::filesystem::path temporary_;
  bool committed_ = false;
};

// Reads a whole file of at most `max_bytes`; throws an Error that names it.
std::string ReadFile(const std::filesystem::path& path, size_t max_bytes);

}  // namespace hagane::io
