#include "io/atomic_write.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/error.h"
#include "io/file_descriptor.h"
#include "io/new_file.h"

namespace hagane::io {
namespace fs = std::filesystem;
namespace {

void SyncPath(const fs::path& path, int flags) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!fd.valid()) throw SystemError("cannot open", path, errno);
  // Some file systems cannot sync a folder and say EINVAL: nothing more can be done there.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) throw SystemError("cannot sync", path, errno);
}

fs::path ParentOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// "out/checkpoint-10/" and "out/checkpoint-10" are the same folder.
fs::path WithoutFinalSlash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

NewFile::NewFile(fs::path path) : path_(std::move(path)) {
  const fs::path parent = ParentOf(path_);
  const std::string prefix =
      fmt::format(".{}.tmp-{:x}-", path_.filename().string(), static_cast<int>(::getpid()));
  // Not mkstemp: that makes a file private, and a finished one gets the umask's permissions.
  for (int attempt = 0; attempt < 100; ++attempt) {
    fs::path candidate = parent / (prefix + std::to_string(attempt));
    const int fd =
        ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd >= 0) {
      temporary_ = std::move(candidate);
      fd_ = fd;
      return;
    }
    if (errno != EEXIST) throw SystemError("cannot write", path_, errno);
  }
  throw Error(fmt::format("cannot write {}: too many unfinished copies beside it", path_.string()),
              fmt::format("remove the files .{}.tmp-* there", path_.filename().string()));
}

NewFile::~NewFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void NewFile::Reserve(size_t bytes) {
  if (bytes == 0) return;
  if (::fallocate(fd_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    throw SystemError("cannot write", path_, errno);
  }
}

void NewFile::Write(const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd_, from, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      throw SystemError("cannot write", path_, errno);
    }
    from += written;
    size -= static_cast<size_t>(written);
  }
}

void NewFile::Commit() {
  if (::fsync(fd_) != 0) throw SystemError("cannot write", path_, errno);
  if (::close(std::exchange(fd_, -1)) != 0) throw SystemError("cannot write", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw SystemError("cannot write", path_, errno);
  }
  temporary_.clear();
  SyncPath(ParentOf(path_), O_DIRECTORY);
}

void WriteFileAtomically(const fs::path& path, std::string_view content) {
  NewFile file(path);
  file.Reserve(content.size());
  file.Write(content.data(), content.size());
  file.Commit();
}

AtomicFolder::AtomicFolder(fs::path final_path) : final_(WithoutFinalSlash(final_path)) {
  const fs::path parent = ParentOf(final_);
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) throw SystemError("cannot make", parent, error.value());
  // The outer folder is private (0700); the one inside has the permissions of the user's umask, and
  // it is what gets its final name.
  std::string outer = (parent / ("." + final_.filename().string() + ".tmp-XXXXXX")).string();
  if (::mkdtemp(outer.data()) == nullptr) throw SystemError("cannot write into", parent, errno);
  temporary_ = fs::path(outer) / final_.filename();
  if (::mkdir(temporary_.c_str(), 0777) != 0) {
    const int reason = errno;
    ::rmdir(outer.c_str());
    throw SystemError("cannot make", temporary_, reason);
  }
}

AtomicFolder::~AtomicFolder() {
  // After a Commit this holds the replaced folder, or nothing.
  std::error_code ignored;
  fs::remove_all(temporary_.parent_path(), ignored);
}

void AtomicFolder::Commit() {
  HAGANE_CHECK(!committed_, "AtomicFolder committed twice");
  for (const auto& entry : fs::recursive_directory_iterator(temporary_)) {
    if (entry.is_symlink()) continue;
    SyncPath(entry.path(), entry.is_directory() ? O_DIRECTORY : 0);
  }
  SyncPath(temporary_, O_DIRECTORY);

  const auto rename = [](const fs::path& from, const fs::path& to, unsigned flags) {
    return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0 ? 0 : errno;
  };
  int failed = rename(temporary_, final_, 0);
  if (failed == ENOTEMPTY || failed == EEXIST) failed = rename(temporary_, final_, RENAME_EXCHANGE);
  if (failed == EINVAL || failed == ENOSYS) {
    // A file system without exchange: for a moment no folder has the final name.
    const fs::path replaced = temporary_.parent_path() / ".replaced";
    failed = rename(final_, replaced, 0);
    if (failed == 0) {
      failed = rename(temporary_, final_, 0);
      if (failed != 0) rename(replaced, final_, 0);
    }
  }
  if (failed != 0) throw SystemError("cannot write", final_, failed);
  committed_ = true;
  SyncPath(ParentOf(final_), O_DIRECTORY);
}

std::string ReadFile(const fs::path& path, size_t max_bytes) {
  size_t size = 0;
  const FileDescriptor fd = OpenRegularFile(path, 0, size);
  const auto too_large = [&] {
    return Error(fmt::format("{} is larger than the {} MB that such a file may have", path.string(),
                             max_bytes >> 20));
  };
  if (size > max_bytes) throw too_large();
  std::string content(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd.get(), content.data() + done, size - done);
    if (got < 0) {
      if (errno == EINTR) continue;
      throw SystemError("cannot read", path, errno);
    }
    if (got == 0) break;  // cut shorter meanwhile
    done += static_cast<size_t>(got);
  }
  content.resize(done);
  return content;
}

}  // namespace hagane::io
