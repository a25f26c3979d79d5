#include "io/file_system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <system_error>

#include "base/error.h"
#include "io/file_descriptor.h"

namespace hagane::io {
namespace fs = std::filesystem;

int FileSystem::Open(const char* path, int flags, unsigned mode) {
  return ::open(path, flags, static_cast<mode_t>(mode));
}
ssize_t FileSystem::Read(int fd, void* to, size_t size) { return ::read(fd, to, size); }
ssize_t FileSystem::Write(int fd, const void* from, size_t size) { return ::write(fd, from, size); }
ssize_t FileSystem::WriteAt(int fd, const void* from, size_t size, int64_t offset) {
  return ::pwrite(fd, from, size, offset);
}
int FileSystem::Reserve(int fd, size_t size) {
  return ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size));
}
int FileSystem::Sync(int fd) { return ::fsync(fd); }
int FileSystem::Close(int fd) { return ::close(fd); }
int FileSystem::Rename(const char* from, const char* to, unsigned flags) {
  return flags == 0 ? ::rename(from, to) : ::renameat2(AT_FDCWD, from, AT_FDCWD, to, flags);
}
int FileSystem::MakeFolder(const char* path, unsigned mode) {
  return ::mkdir(path, static_cast<mode_t>(mode));
}
int FileSystem::RemoveFile(const char* path) { return ::unlink(path); }
int FileSystem::RemoveFolder(const char* path) { return ::rmdir(path); }
void* FileSystem::Map(int fd, size_t size) {
  return ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
}
int64_t FileSystem::FreeBytes(const char* path) {
  struct statvfs status;
  if (::statvfs(path, &status) != 0) return -1;
  const auto bytes = static_cast<unsigned __int128>(status.f_bavail) * status.f_frsize;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return bytes > static_cast<unsigned __int128>(kMost) ? kMost : static_cast<int64_t>(bytes);
}

namespace {

FileSystem system_files;
std::atomic<FileSystem*> files{&system_files};

}  // namespace

FileSystem& Files() { return *files.load(std::memory_order_acquire); }

ScopedFileSystem::ScopedFileSystem(FileSystem* replacement)
    : before_(files.exchange(replacement, std::memory_order_acq_rel)) {}
ScopedFileSystem::~ScopedFileSystem() { files.store(before_, std::memory_order_release); }

fs::path ParentOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void MakeFolders(const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return;
  const fs::path parent = ParentOf(folder);
  if (parent != folder) MakeFolders(parent);
  if (!folder.has_filename()) return;  // "a/b/": its parent is the folder
  if (Files().MakeFolder(folder.c_str(), 0777) == 0) return;
  const int reason = errno;
  // Made by somebody else meanwhile; a file of that name is in the way.
  if (reason == EEXIST && fs::is_directory(folder, ignored)) return;
  throw SystemError("cannot make", folder, reason);
}

void RemoveTree(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (status.type() == fs::file_type::not_found) return;
  if (status.type() != fs::file_type::directory) {
    if (Files().RemoveFile(path.c_str()) != 0 && errno != ENOENT) {
      throw SystemError("cannot delete", path, errno);
    }
    return;
  }
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    RemoveTree(it->path());
  }
  if (error) throw SystemError("cannot delete", path, error.value());
  if (Files().RemoveFolder(path.c_str()) != 0 && errno != ENOENT) {
    throw SystemError("cannot delete", path, errno);
  }
}

void SyncFolder(const fs::path& folder) {
  const FileDescriptor fd(
      Files().Open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, /*mode=*/0));
  if (!fd.valid()) throw SystemError("cannot open", folder, errno);
  if (Files().Sync(fd.get()) != 0 && errno != EINVAL) {
    throw SystemError("cannot sync", folder, errno);
  }
}

void RequireFreeSpace(const fs::path& folder, uint64_t bytes) {
  std::error_code ignored;
  fs::path there = folder;
  while (!fs::exists(there, ignored) && there != ParentOf(there)) there = ParentOf(there);
  const int64_t available = Files().FreeBytes(there.c_str());
  // Some network file systems cannot say: then writing shows it.
  if (available < 0) return;
  const uint64_t needed = bytes + bytes / 100 + (uint64_t{1} << 20);
  if (static_cast<uint64_t>(available) >= needed) return;
  const auto megabytes = [](uint64_t count) { return static_cast<double>(count) / 1e6; };
  throw Error(fmt::format("{} has {:.1f} MB of free space, {:.1f} MB are needed", there.string(),
                          megabytes(static_cast<uint64_t>(available)), megabytes(needed)),
              "free some space there, or choose another folder");
}

}  // namespace hagane::io
