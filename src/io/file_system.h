// Every operation on files that this room does goes through Files(): one function per system call,
// so that tests can make the n-th fail, shorten it, or see what a loss of power would leave.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace hagane::io {

// The system's own files. Each function is the system call of that name, its result and errno
// included; tests derive from the class and install theirs with ScopedFileSystem. Thread safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual int Open(const char* path, int flags, unsigned mode);
  virtual ssize_t Read(int fd, void* to, size_t size);
  virtual ssize_t Write(int fd, const void* from, size_t size);
  virtual ssize_t WriteAt(int fd, const void* from, size_t size, int64_t offset);
  // Space for `size` bytes from the start, without changing the file's size.
  virtual int Reserve(int fd, size_t size);
  virtual int Sync(int fd);
  virtual int Close(int fd);
  // `flags` of renameat2; 0 replaces what is there.
  virtual int Rename(const char* from, const char* to, unsigned flags);
  virtual int MakeFolder(const char* path, unsigned mode);
  virtual int RemoveFile(const char* path);
  virtual int RemoveFolder(const char* path);
  // Read-only and private; MAP_FAILED is the error.
  virtual void* Map(int fd, size_t size);
  // What a user without privileges may still write where `path` is; -1 is the error.
  virtual int64_t FreeBytes(const char* path);
};

FileSystem& Files();

// For tests: while the object lives, Files() is `replacement` in every thread. This pointer is the
// one piece of global state in the program; outside tests nothing sets it.
class ScopedFileSystem {
 public:
  explicit ScopedFileSystem(FileSystem* replacement);
  ~ScopedFileSystem();
  ScopedFileSystem(const ScopedFileSystem&) = delete;
  ScopedFileSystem& operator=(const ScopedFileSystem&) = delete;

 private:
  FileSystem* before_;
};

// --- Built on it; each throws an Error naming path and reason.

// The folder and those above it, where missing.
void MakeFolders(const std::filesystem::path& folder);
// A file or folder with all in it, links not followed. What is missing already is no error.
void RemoveTree(const std::filesystem::path& path);
// Makes new names and renames in the folder durable. A file system that cannot sync folders is no
// error.
void SyncFolder(const std::filesystem::path& folder);
// "." where the path is a bare name.
std::filesystem::path ParentOf(const std::filesystem::path& path);

// Refuses to begin what cannot fit: throws an Error with both figures unless `bytes` and a margin
// (1 % and 1 MB) are free where `folder` is, or will be. No promise: others write there too.
void RequireFreeSpace(const std::filesystem::path& folder, uint64_t bytes);

}  // namespace hagane::io
