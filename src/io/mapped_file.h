// A read-only view of a whole file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace hagane::io {

enum class Links {
  kFollow,
  kRefuse
};  // what to do when the last part of a path is a symbolic link

class MappedFile {
 public:
  // Only regular files; throws an Error naming path and reason. The size is taken once: a file that
  // another process cuts shorter while it is mapped raises SIGBUS, which is why everything here is
  // written by rename, never in place.
  static std::shared_ptr<const MappedFile> Open(const std::filesystem::path& path,
                                                Links links = Links::kFollow);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}

  const std::byte* data_;
  size_t size_;
};

}  // namespace hagane::io
