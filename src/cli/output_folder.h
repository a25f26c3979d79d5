// The output folder of a run: who writes there, what killed runs left, and where training starts
// (spec 1.5; safety of unfinished runs).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/run_context.h"
#include "io/output_lock.h"
#include "io/run_origin.h"

namespace hagane::cli {

// What the flags say of it.
struct OutputFolder {
  std::filesystem::path path;
  bool overwrite = false;
  bool no_resume = false;
  bool resume_despite_changes = false;  // of data, start weights or schedule
  std::string resume_from;              // empty, "last" or a checkpoint folder
};

// All arguments of the run, in output_dir: may be given back as `hagane run_glue run_args.json`.
inline constexpr const char* kArgumentsFile = "run_args.json";

// The last file that a run with training writes: where it is, the run came to its end.
inline constexpr const char* kModelCardFile = "README.md";

// What a run will do there.
struct FolderUse {
  bool train = false;
  std::string all_arguments;  // as JSON
};

class RunFolder {
 public:
  // Makes the folder where it is missing, takes its lock, removes what killed runs left, and throws
  // an Error where it can be seen already that FindStart will. Throws data::Interrupted when asked
  // to stop while it waits for the lock.
  RunFolder(const OutputFolder& output, FolderUse use, const RunContext& ctx);

  // Decides where training starts, says so, and writes kArgumentsFile. Returns the checkpoint to
  // resume from.
  //   --resume_from_checkpoint: that checkpoint, or the newest whole one
  //   checkpoints in the folder, no --overwrite_output_dir: the newest whole one
  //   --overwrite_output_dir: afresh, except that an unfinished run of the same command, training
  //     data and start weights is continued unless --no_resume is given; checkpoints of the run
  //     that is overwritten are deleted
  //   other files and no --overwrite_output_dir: an Error
  // A checkpoint of other data or start weights is an Error unless --resume_despite_changes.
  // Without train, the folder may hold anything. `origin` says all but the command.
  std::optional<std::filesystem::path> FindStart(io::RunOrigin origin, Log& log);

  // For the manifests of this run's checkpoints.
  const io::RunOrigin& origin() const { return origin_; }
  // Asked before anything is written; see io::OutputLock.
  void Confirm() const { lock_->Confirm(); }

 private:
  const OutputFolder output_;
  const FolderUse use_;
  std::unique_ptr<io::OutputLock> lock_;
  io::RunOrigin origin_;
};

}  // namespace hagane::cli
