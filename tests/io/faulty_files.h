// File systems for tests: one that fails at a chosen operation, one that knows what a loss of power
// would leave.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "io/file_system.h"

namespace hagane::io {

// Syncs nothing: tests need not wait for the disk.
class UnsyncedFiles : public FileSystem {
 public:
  int Sync(int) override { return 0; }
};

// Counts the operations that can change something (reading is not among them, closing is). The
// `at`-th does what `fault` says; 0: none.
class FaultyFiles : public UnsyncedFiles {
 public:
  enum class Fault {
    kDie,         // this and all later ones fail and change nothing, as if the process were gone
    kError,       // fails once, with `error`
    kShortWrite,  // a write takes half of its bytes; other operations are not touched
  };
  explicit FaultyFiles(int at = 0, Fault fault = Fault::kDie, int error = EIO)
      : at_(at), fault_(fault), error_(error) {}

  // A file system that cannot exchange two names.
  bool exchanges = true;

  int operations() const { return count_; }
  // A file or folder was synced again after its sync had failed.
  bool synced_after_failure() const { return synced_after_failure_; }

  int Open(const char* path, int flags, unsigned mode) override {
    if ((flags & O_CREAT) != 0 && Fails()) return -1;
    const int fd = FileSystem::Open(path, flags, mode);
    if (fd >= 0) paths_[fd] = path;
    return fd;
  }
  ssize_t Write(int fd, const void* from, size_t size) override {
    const bool shorten = fault_ == Fault::kShortWrite && count_ + 1 == at_;
    if (Fails()) return -1;
    return FileSystem::Write(fd, from, shorten ? (size + 1) / 2 : size);
  }
  int Reserve(int fd, size_t size) override { return Fails() ? -1 : FileSystem::Reserve(fd, size); }
  int Sync(int fd) override {
    if (failed_syncs_.count(paths_[fd]) > 0) synced_after_failure_ = true;
    if (!Fails()) return 0;
    failed_syncs_.insert(paths_[fd]);
    return -1;
  }
  int Close(int fd) override {
    const bool fails = Fails();
    const int result = FileSystem::Close(fd);  // the kernel does so for who is gone
    return fails ? -1 : result;
  }
  int Rename(const char* from, const char* to, unsigned flags) override {
    if (Fails()) return -1;
    if (flags == 0 || exchanges) return FileSystem::Rename(from, to, flags);
    errno = EINVAL;
    return -1;
  }
  int MakeFolder(const char* path, unsigned mode) override {
    return Fails() ? -1 : FileSystem::MakeFolder(path, mode);
  }
  int RemoveFile(const char* path) override { return Fails() ? -1 : FileSystem::RemoveFile(path); }
  int RemoveFolder(const char* path) override {
    return Fails() ? -1 : FileSystem::RemoveFolder(path);
  }

 private:
  bool Fails() {
    ++count_;
    const bool fails = at_ > 0 && ((fault_ == Fault::kDie && count_ >= at_) ||
                                   (fault_ == Fault::kError && count_ == at_));
    if (fails) errno = error_;
    return fails;
  }

  const int at_;
  const Fault fault_;
  const int error_;
  int count_ = 0;
  std::map<int, std::string> paths_;
  std::set<std::string> failed_syncs_;
  bool synced_after_failure_ = false;
};

// Follows what is done below a folder and knows what is on the disk for certain: the content of
// files that were synced, the names in folders that were synced. Everything else may be lost.
class PowerLossFiles : public FileSystem {
 public:
  // What is in the folder now is on the disk. `after` is called after each change.
  PowerLossFiles(const std::filesystem::path& root, std::function<void()> after)
      : root_(root), after_(std::move(after)), top_(Read(root)) {}

  // Writes to `to` what the disk might hold if the power went off now: with `random`, any mix of
  // what is certain and what was done since; without, only what is certain.
  void Restore(const std::filesystem::path& to, std::mt19937* random) const {
    Restore(*top_, to, random);
  }

  int Open(const char* path, int flags, unsigned mode) override {
    const int fd = FileSystem::Open(path, flags, mode);
    if (fd < 0) return fd;
    if ((flags & O_CREAT) != 0) Parent(path).names[Name(path)] = std::make_shared<Node>();
    open_[fd] = Find(path);
    if ((flags & O_CREAT) != 0) Tell();
    return fd;
  }
  ssize_t Write(int fd, const void* from, size_t size) override {
    const ssize_t written = FileSystem::Write(fd, from, size);
    if (written > 0)
      open_[fd]->content.append(static_cast<const char*>(from), static_cast<size_t>(written));
    Tell();
    return written;
  }
  int Sync(int fd) override {
    if (const auto node = open_[fd]) {
      node->synced_content = node->content;
      node->synced_names = node->names;
    }
    Tell();
    return 0;
  }
  int Rename(const char* from, const char* to, unsigned flags) override {
    const int result = FileSystem::Rename(from, to, flags);
    if (result == 0) {
      auto& source = Parent(from).names;
      auto& target = Parent(to).names;
      const auto moved = source.at(Name(from));
      const auto other = target.count(Name(to)) > 0 ? target[Name(to)] : nullptr;
      target[Name(to)] = moved;
      if (flags == 0) source.erase(Name(from));
      if (flags != 0) source[Name(from)] = other;
    }
    Tell();
    return result;
  }
  int MakeFolder(const char* path, unsigned mode) override {
    const int result = FileSystem::MakeFolder(path, mode);
    if (result == 0) {
      const auto node = std::make_shared<Node>();
      node->folder = true;
      Parent(path).names[Name(path)] = node;
    }
    Tell();
    return result;
  }
  int RemoveFile(const char* path) override { return Removed(path, FileSystem::RemoveFile(path)); }
  int RemoveFolder(const char* path) override {
    return Removed(path, FileSystem::RemoveFolder(path));
  }

 private:
  struct Node;
  using Names = std::map<std::string, std::shared_ptr<Node>>;
  struct Node {
    bool folder = false;
    std::string content, synced_content;
    Names names, synced_names;
  };

  void Tell() const {
    const int reason = errno;
    after_();
    errno = reason;
  }
  static std::string Name(const std::filesystem::path& path) { return path.filename().string(); }
  static std::shared_ptr<Node> Read(const std::filesystem::path& path) {
    const auto node = std::make_shared<Node>();
    node->folder = std::filesystem::is_directory(path);
    if (node->folder) {
      for (const auto& entry : std::filesystem::directory_iterator(path)) {
        node->names[Name(entry.path())] = Read(entry.path());
      }
    } else {
      std::ifstream in(path, std::ios::binary);
      node->content.assign(std::istreambuf_iterator<char>(in), {});
    }
    node->synced_content = node->content;
    node->synced_names = node->names;
    return node;
  }
  std::shared_ptr<Node> Find(const std::filesystem::path& path) const {
    auto node = top_;
    const auto below = path.lexically_relative(root_);
    if (below == ".") return node;
    for (const auto& part : below) {
      const auto found = node->names.find(part.string());
      if (found == node->names.end()) return nullptr;
      node = found->second;
    }
    return node;
  }
  Node& Parent(const std::filesystem::path& path) const { return *Find(path.parent_path()); }
  int Removed(const char* path, int result) {
    if (result == 0) Parent(path).names.erase(Name(path));
    Tell();
    return result;
  }
  static void Restore(const Node& node, const std::filesystem::path& to, std::mt19937* random) {
    const auto coin = [&] { return random != nullptr && (*random)() % 2 == 0; };
    if (!node.folder) {
      std::string content = node.synced_content;
      if (coin() && node.content.size() > content.size()) {
        const size_t more = (*random)() % (node.content.size() - content.size() + 1);
        content = node.content.substr(0, content.size() + more);
        if (coin()) content.resize(node.content.size(), '\0');  // the size is there, blocks are not
      }
      std::ofstream(to, std::ios::binary) << content;
      return;
    }
    std::filesystem::create_directory(to);
    Names names = node.synced_names;
    for (const auto& [name, child] : node.names) {
      if (names[name] == nullptr || names[name] != child) {
        if (coin()) names[name] = child;
      }
    }
    for (const auto& [name, child] : node.synced_names) {
      if (node.names.count(name) == 0 && coin()) names[name] = nullptr;
    }
    for (const auto& [name, child] : names) {
      if (child) Restore(*child, to / name, random);
    }
  }

  const std::filesystem::path root_;
  const std::function<void()> after_;
  const std::shared_ptr<Node> top_;
  std::map<int, std::shared_ptr<Node>> open_;
};

}  // namespace hagane::io
