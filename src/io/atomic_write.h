// Write-then-rename: a reader sees the old content or the new one, never a half.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace hagane::io {

// Whole file: temporary name in the same folder, write, fsync, rename, fsync of the folder.
// Throws an Error naming path and reason; nothing is left over.
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

// Whole folder: files are written into path() with WriteFileAtomically or NewFile, which sync them;
// Commit() syncs the folders in it and itself, renames it to its final name (replacing a folder of
// that name, if any) and syncs the parent. Without Commit, and after one that threw, the destructor
// removes everything, and what had the name before has it still.
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

// What a killed process left of the above in `folder` (not below it): removed, or, where a folder
// was killed while it was being replaced, put back. Only for who alone writes there
// (io/output_lock.h). Returns how many there were.
int SweepUnfinished(const std::filesystem::path& folder);
// ".NAME.tmp-<hexadecimal pid>-<number>"
bool IsTemporaryName(std::string_view name);

// Reads a whole file of at most `max_bytes`; throws an Error that names it.
std::string ReadFile(const std::filesystem::path& path, size_t max_bytes);

}  // namespace hagane::io
