#include "io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "io/file_descriptor.h"
#include "io/file_system.h"

namespace hagane::io {

std::shared_ptr<const MappedFile> MappedFile::Open(const std::filesystem::path& path, Links links) {
  size_t size = 0;
  const FileDescriptor fd = OpenRegularFile(path, links == Links::kRefuse ? O_NOFOLLOW : 0, size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(nullptr, 0));
  void* data = Files().Map(fd.get(), size);
  if (data == MAP_FAILED) throw SystemError("cannot map", path, errno);
  ::madvise(data, size, MADV_WILLNEED);
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace hagane::io
