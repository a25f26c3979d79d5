#include "cli/output_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/error.h"
#include "data/interrupted.h"
#include "io/atomic_write.h"
#include "io/checkpoint.h"
#include "io/file_system.h"
#include "io/json.h"
#include "io/manifest.h"

namespace hagane::cli {

namespace {

namespace fs = std::filesystem;

// Without what only presents the run or says where it starts.
std::string DecisiveArguments(const std::string& all_arguments) {
  auto json = nlohmann::json::parse(all_arguments);
  for (const char* key :
       {"overwrite_output_dir", "resume_from_checkpoint", "resume_despite_changes", "no_resume",
        "threads", "isa", "json", "disable_tqdm", "log_level", "dry_run", "print_config",
        "memory_check", "background_save"}) {
    json.erase(key);
  }
  return json.dump();
}

io::RunOrigin OriginOf(const fs::path& checkpoint) {
  return io::HasManifest(checkpoint) ? io::OriginIn(io::ReadManifest(checkpoint)) : io::RunOrigin{};
}

// What a run writes after training.
std::vector<fs::path> ResultFiles(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name == "train_results.json" || name == "eval_results.json" ||
        name.starts_with("predict_results") || name == kModelCardFile) {
      files.push_back(entry.path());
    }
  }
  return files;
}

// Nothing but what a run leaves that was stopped before its first checkpoint.
bool IsUnused(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name != kArgumentsFile && !name.starts_with('.')) return false;
  }
  return true;
}

void DeleteOldRun(const fs::path& folder, Log& log) {
  const auto checkpoints = io::ListCheckpoints(folder);
  if (!checkpoints.empty()) {
    log.Info(fmt::format("--overwrite_output_dir: deleting {} checkpoints of the earlier run in {}",
                         checkpoints.size(), folder.string()));
  }
  for (const auto& checkpoint : checkpoints) io::DeleteCheckpoint(checkpoint.path);
  for (const fs::path& file : ResultFiles(folder)) io::RemoveTree(file);
}

// What needs no look into checkpoints.
void CheckUsable(const OutputFolder& output) {
  if (!output.resume_from.empty()) {
    if (output.resume_from == "last" || fs::is_directory(output.resume_from)) return;
    throw Error(fmt::format("there is no checkpoint folder {}", output.resume_from),
                "--resume_from_checkpoint True takes the last one of --output_dir");
  }
  if (output.overwrite || IsUnused(output.path)) return;
  if (!io::ListCheckpoints(output.path).empty()) return;
  throw Error(fmt::format("the output folder {} is not empty", output.path.string()),
              "choose another --output_dir, or pass --overwrite_output_dir");
}

// Decides where the training of one run starts.
class Start {
 public:
  Start(const OutputFolder& output, const io::RunOrigin& origin, Log& log)
      : output_(output), origin_(origin), log_(log) {}

  std::optional<fs::path> Find() const {
    if (output_.resume_from == "last") return Resume(Newest());
    if (!output_.resume_from.empty()) return Resume(Named());
    if (output_.overwrite) {
      if (const auto unfinished = Unfinished()) return unfinished;
      DeleteOldRun(output_.path, log_);
      return std::nullopt;
    }
    if (IsUnused(output_.path)) return std::nullopt;
    const fs::path newest = Newest();
    log_.Info(
        fmt::format("checkpoint found, resuming training at {}; to avoid this, change "
                    "--output_dir or add --overwrite_output_dir to train from scratch",
                    newest.string()));
    CheckOrigin(newest);
    return newest;
  }

 private:
  fs::path Newest() const {
    const auto newest = io::NewestWholeCheckpoint(output_.path, log_);
    if (newest) return newest->path;
    throw Error(
        fmt::format("{} holds no checkpoint that is whole", output_.path.string()),
        "leave out --resume_from_checkpoint, or pass --overwrite_output_dir to start afresh");
  }

  fs::path Named() const {
    io::CheckCheckpoint(output_.resume_from);
    return output_.resume_from;
  }

  fs::path Resume(const fs::path& checkpoint) const {
    log_.Info(fmt::format("resuming training at {}", checkpoint.string()));
    CheckOrigin(checkpoint);
    return checkpoint;
  }

  void CheckOrigin(const fs::path& checkpoint) const {
    if (output_.resume_despite_changes) return;
    auto differences = io::Differences(OriginOf(checkpoint), origin_);
    std::erase(differences, "command");  // the schedule is compared flag by flag
    if (differences.empty()) return;
    throw Error(fmt::format("{} was written by a run with other {}", checkpoint.string(),
                            fmt::join(differences, " and other ")),
                "give the data and the model of that run, add --resume_despite_changes, or choose "
                "another --output_dir");
  }

  // The newest checkpoint, when it is of this very run and the run did not come to its end.
  std::optional<fs::path> Unfinished() const {
    if (output_.no_resume || fs::exists(output_.path / kModelCardFile)) return std::nullopt;
    const auto newest = io::NewestWholeCheckpoint(output_.path, log_);
    if (!newest) return std::nullopt;
    const io::RunOrigin written = OriginOf(newest->path);
    const auto differences = io::Differences(written, origin_);
    if (written.command.empty() || !differences.empty()) {
      log_.Info(fmt::format(
          "{} is not continued: it is of a run with another {}", newest->path.string(),
          fmt::join(written.command.empty() ? std::vector<std::string>{"program"} : differences,
                    " and another ")));
      return std::nullopt;
    }
    log_.Info(
        fmt::format("continuing the unfinished run in {} from step {} ({}); --no_resume starts "
                    "afresh instead",
                    output_.path.string(), newest->step, newest->path.filename().string()));
    return newest->path;
  }

  const OutputFolder& output_;
  const io::RunOrigin& origin_;
  Log& log_;
};

}  // namespace

RunFolder::RunFolder(const OutputFolder& output, FolderUse use, const RunContext& ctx)
    : output_(output), use_(std::move(use)) {
  Log& log = *ctx.log;
  WithHint("choose another --output_dir", [&] { io::MakeFolders(output_.path); });
  io::LockTimes times;
  times.sleep = [&ctx](std::chrono::milliseconds pause) {
    data::StopIfAsked(ctx);
    std::this_thread::sleep_for(pause);
  };
  lock_ = std::make_unique<io::OutputLock>(output_.path, log, times);
  if (const int leftovers = io::SweepLeftovers(output_.path); leftovers > 0) {
    log.Info(fmt::format("{}: removed {} unfinished file(s) of a run that was killed",
                         output_.path.string(), leftovers));
  }
  if (use_.train) CheckUsable(output_);
}

std::optional<fs::path> RunFolder::FindStart(io::RunOrigin origin, Log& log) {
  origin_ = std::move(origin);
  std::optional<fs::path> start;
  if (use_.train) {
    origin_.command = io::FingerprintOf(DecisiveArguments(use_.all_arguments));
    start = Start(output_, origin_, log).Find();
  }
  io::WriteFileAtomically(output_.path / kArgumentsFile, use_.all_arguments);
  return start;
}

}  // namespace hagane::cli
