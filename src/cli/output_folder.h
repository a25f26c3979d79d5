// The rules for an output folder that is not empty (spec 1.5; safety of unfinished runs).
#pragma once

#include <filesystem>
#include <optional>

#include "base/log.h"
#include "cli/run_arguments.h"

namespace hagane::cli {

// All arguments of the run, in output_dir: may be given back as `hagane run_glue run_args.json`.
inline constexpr const char* kArgumentsFile = "run_args.json";

// Makes the folder where it is missing and decides where training starts:
//   --resume_from_checkpoint: that checkpoint, or the newest whole one
//   checkpoints in the folder, no --overwrite_output_dir: the newest whole one
//   --overwrite_output_dir: afresh, except that an unfinished run of the same arguments is
//   continued
//     unless --no_resume is given; checkpoints of the run that is overwritten are deleted
//   other files and no --overwrite_output_dir: an Error
// Returns the checkpoint to resume from. Without do_train only makes the folder.
std::optional<std::filesystem::path> PrepareOutputFolder(const RunArguments& arguments, Log& log);

}  // namespace hagane::cli
