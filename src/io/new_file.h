// One file on its way to its final name (see atomic_write.h), for content written in pieces.
#pragma once

#include <cstddef>
#include <filesystem>

namespace hagane::io {

class NewFile {
 public:
  explicit NewFile(std::filesystem::path path);
  ~NewFile();  // without Commit: removes what was written
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Asks the file system for the space now: a full disk is found before the first byte is written.
  void Reserve(size_t bytes);
  void Write(const void* data, size_t size);
  void Commit();  // fsync, rename, fsync of the folder

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
};

}  // namespace hagane::io
