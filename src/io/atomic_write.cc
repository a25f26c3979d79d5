#include "io/atomic_write.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "io/file_descriptor.h"
#include "io/file_system.h"
#include "io/new_file.h"

namespace hagane::io {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kTemporaryMark = ".tmp-";
constexpr const char* kReplacedName = ".replaced";  // in a folder's temporary one

// A name beside `path` that nobody uses, after make(name) returned true; see IsTemporaryName.
template <class Make>
fs::path MakeTemporary(const fs::path& path, Make make) {
  const std::string prefix =
      fmt::format(".{}{}{:x}-", path.filename().string(), kTemporaryMark, ::getpid());
  for (int attempt = 0; attempt < 100; ++attempt) {
    fs::path candidate = ParentOf(path) / (prefix + std::to_string(attempt));
    if (make(candidate)) return candidate;
    if (errno != EEXIST) throw SystemError("cannot write", path, errno);
  }
  throw Error(fmt::format("cannot write {}: too many unfinished copies beside it", path.string()),
              fmt::format("remove the files {}* there", prefix));
}

// "out/checkpoint-10/" and "out/checkpoint-10" are the same folder.
fs::path WithoutFinalSlash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

NewFile::NewFile(fs::path path) : path_(std::move(path)) {
  temporary_ = MakeTemporary(path_, [&](const fs::path& candidate) {
    // Not mkstemp: that makes a file private, and a finished one gets the umask's permissions.
    fd_ =
        Files().Open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    return fd_ >= 0;
  });
}

NewFile::~NewFile() {
  if (fd_ >= 0) Files().Close(fd_);
  if (!temporary_.empty()) Files().RemoveFile(temporary_.c_str());
}

void NewFile::Reserve(size_t bytes) {
  if (bytes == 0) return;
  if (Files().Reserve(fd_, bytes) != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    throw SystemError("cannot write", path_, errno);
  }
}

void NewFile::Write(const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = Files().Write(fd_, from, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      throw SystemError("cannot write", path_, errno);
    }
    from += written;
    size -= static_cast<size_t>(written);
  }
}

void NewFile::Commit() {
  // A failed sync is final: the system may have dropped the pages and call the next one a success.
  if (Files().Sync(fd_) != 0) throw SystemError("cannot write", path_, errno);
  if (Files().Close(std::exchange(fd_, -1)) != 0) throw SystemError("cannot write", path_, errno);
  if (Files().Rename(temporary_.c_str(), path_.c_str(), 0) != 0) {
    throw SystemError("cannot write", path_, errno);
  }
  temporary_.clear();
  SyncFolder(ParentOf(path_));
}

void WriteFileAtomically(const fs::path& path, std::string_view content) {
  NewFile file(path);
  file.Reserve(content.size());
  file.Write(content.data(), content.size());
  file.Commit();
}

AtomicFolder::AtomicFolder(fs::path final_path) : final_(WithoutFinalSlash(final_path)) {
  MakeFolders(ParentOf(final_));
  // The outer folder is private; the one inside has the permissions of the user's umask, and it is
  // what gets its final name.
  const fs::path outer = MakeTemporary(final_, [](const fs::path& candidate) {
    return Files().MakeFolder(candidate.c_str(), 0700) == 0;
  });
  temporary_ = outer / final_.filename();
  if (Files().MakeFolder(temporary_.c_str(), 0777) != 0) {
    const int reason = errno;
    Files().RemoveFolder(outer.c_str());
    throw SystemError("cannot make", temporary_, reason);
  }
}

AtomicFolder::~AtomicFolder() {
  // After a Commit this holds the replaced folder, or nothing.
  try {
    RemoveTree(temporary_.parent_path());
  } catch (const Error&) {  // the next run's sweep removes it
  }
}

void AtomicFolder::Commit() {
  HAGANE_CHECK(!committed_, "AtomicFolder committed twice");
  // The files are synced: each was written as a NewFile.
  for (const auto& entry : fs::recursive_directory_iterator(temporary_)) {
    if (entry.is_directory() && !entry.is_symlink()) SyncFolder(entry.path());
  }
  SyncFolder(temporary_);

  const fs::path replaced = temporary_.parent_path() / kReplacedName;
  const auto rename = [](const fs::path& from, const fs::path& to, unsigned flags) {
    return Files().Rename(from.c_str(), to.c_str(), flags) == 0 ? 0 : errno;
  };
  bool exchanged = false;
  int failed = rename(temporary_, final_, 0);
  if (failed == ENOTEMPTY || failed == EEXIST) {
    failed = rename(temporary_, final_, RENAME_EXCHANGE);
    exchanged = failed == 0;
  }
  if (failed == EINVAL || failed == ENOSYS) {
    // A file system without exchange: for a moment no folder has the final name.
    failed = rename(final_, replaced, 0);
    if (failed == 0) {
      failed = rename(temporary_, final_, 0);
      if (failed != 0) rename(replaced, final_, 0);
    }
  }
  if (failed != 0) throw SystemError("cannot write", final_, failed);
  try {
    SyncFolder(ParentOf(final_));
  } catch (const Error&) {
    // Nobody knows what the disk holds: the folder is dropped, and what it replaced comes back.
    rename(final_, temporary_, exchanged ? RENAME_EXCHANGE : 0);
    rename(replaced, final_, 0);
    throw;
  }
  committed_ = true;
}

int SweepUnfinished(const fs::path& folder) {
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (IsTemporaryName(entry.path().filename().string())) leftovers.push_back(entry.path());
  }
  for (const fs::path& leftover : leftovers) {
    // Killed between the two renames of a file system without exchange.
    const std::string name = leftover.filename().string();
    const fs::path final_path = folder / name.substr(1, name.rfind(kTemporaryMark) - 1);
    std::error_code ignored;
    if (fs::exists(leftover / kReplacedName, ignored) && !fs::exists(final_path, ignored) &&
        Files().Rename((leftover / kReplacedName).c_str(), final_path.c_str(), 0) != 0) {
      throw SystemError("cannot write", final_path, errno);
    }
    RemoveTree(leftover);
  }
  return static_cast<int>(leftovers.size());
}

bool IsTemporaryName(std::string_view name) {
  // ".NAME.tmp-<hexadecimal pid>-<attempt>"
  const size_t mark = name.rfind(kTemporaryMark);
  if (!name.starts_with('.') || mark == name.npos || mark < 2) return false;
  const std::string_view tail = name.substr(mark + kTemporaryMark.size());
  const size_t dash = tail.find('-');
  const auto all_of = [](std::string_view text, std::string_view allowed) {
    return !text.empty() && text.find_first_not_of(allowed) == text.npos;
  };
  return dash != tail.npos && all_of(tail.substr(0, dash), "0123456789abcdef") &&
         all_of(tail.substr(dash + 1), "0123456789");
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
    const ssize_t got = Files().Read(fd.get(), content.data() + done, size - done);
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
