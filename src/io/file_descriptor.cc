#include "io/file_descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "io/file_system.h"

namespace hagane::io {

FileDescriptor::~FileDescriptor() { Close(); }

int FileDescriptor::Close() {
  const int fd = std::exchange(fd_, -1);
  return fd >= 0 ? Files().Close(fd) : 0;
}

FileDescriptor OpenRegularFile(const std::filesystem::path& path, int flags, size_t& size) {
  FileDescriptor fd(Files().Open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags, 0));
  if (!fd.valid()) {
    if (errno == ELOOP && (flags & O_NOFOLLOW)) {
      throw Error(
          fmt::format("{} is a symbolic link that leads out of its model folder", path.string()),
          "copy the file it points to into the folder");
    }
    throw SystemError("cannot open", path, errno);
  }
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) throw SystemError("cannot read", path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(fmt::format("{} is {}, not a file", path.string(),
                            S_ISDIR(status.st_mode) ? "a folder" : "a device or pipe"));
  }
  size = static_cast<size_t>(status.st_size);
  return fd;
}

Error SystemError(const std::string& what, const std::filesystem::path& path, int error_number) {
  std::string hint;
  if (error_number == ENOSPC || error_number == EDQUOT) {
    hint = "free some space there, or choose another folder";
  } else if (error_number == EACCES || error_number == EPERM || error_number == EROFS) {
    hint = "check the permissions of the file and its folder";
  }
  return Error(
      fmt::format("{} {}: {}", what, path.string(), std::generic_category().message(error_number)),
      hint);
}

}  // namespace hagane::io
