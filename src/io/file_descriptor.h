// An open file that closes itself.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/error.h"

namespace hagane::io {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Hands the result of close() over: network file systems report failed writes only there.
  int Close();

 private:
  int fd_;
};

// Opens a regular file for reading (never waits on a FIFO); `flags` are added to the open flags.
// `size` receives its size. Throws an Error naming path and reason.
FileDescriptor OpenRegularFile(const std::filesystem::path& path, int flags, size_t& size);

// "cannot write out/model.safetensors: No space left on device", from errno's value.
Error SystemError(const std::string& what, const std::filesystem::path& path, int error_number);

}  // namespace hagane::io
