#include "cli/output_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "io/checkpoint.h"
#include "io/json.h"

namespace hagane::cli {

namespace {

namespace fs = std::filesystem;

void MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path)) {
    throw Error(fmt::format("cannot make the output folder {}: {}", path.string(),
                            error ? error.message() : "a file of that name is there"),
                "choose another --output_dir");
  }
}

fs::path NewestCheckpoint(const fs::path& folder, Log& log) {
  const auto newest = io::NewestWholeCheckpoint(folder, log);
  if (!newest) {
    throw Error(
        fmt::format("{} holds no checkpoint that is whole", folder.string()),
        "leave out --resume_from_checkpoint, or pass --overwrite_output_dir to start afresh");
  }
  return newest->path;
}

// What a run writes as it ends, by which an ended run is told from one that was stopped.
std::vector<fs::path> ResultFiles(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name == "train_results.json" || name == "eval_results.json" ||
        name.starts_with("predict_results_")) {
      files.push_back(entry.path());
    }
  }
  return files;
}

bool HasEnded(const RunArguments& arguments) {
  const auto files = ResultFiles(arguments.output.path);
  const auto there = [&](const char* prefix) {
    return std::any_of(files.begin(), files.end(), [&](const fs::path& file) {
      return file.filename().string().starts_with(prefix);
    });
  };
  return there("train_") && (!arguments.do_eval || there("eval_")) &&
         (!arguments.do_predict || there("predict_"));
}

// The run that wrote run_args.json had the same arguments, how to present and where to start apart,
// and did not come to its end.
bool IsUnfinishedRunOf(const RunArguments& arguments) {
  const fs::path& folder = arguments.output.path;
  const fs::path saved = folder / kArgumentsFile;
  if (!fs::exists(saved) || HasEnded(arguments)) return false;
  const auto decisive = [](nlohmann::ordered_json json) {
    for (const char* key :
         {"overwrite_output_dir", "resume_from_checkpoint", "no_resume", "threads", "isa", "json",
          "disable_tqdm", "log_level", "dry_run", "print_config"}) {
      json.erase(key);
    }
    return nlohmann::json(json);
  };
  try {
    return decisive(io::ReadJsonFile(saved, io::kConfigLimits)) ==
           decisive(nlohmann::ordered_json::parse(arguments.all_arguments));
  } catch (const Error&) {
    return false;  // not ours
  }
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
  for (const fs::path& file : ResultFiles(folder)) fs::remove(file);
}

}  // namespace

std::optional<fs::path> PrepareOutputFolder(const RunArguments& arguments, Log& log) {
  const OutputFolder& output = arguments.output;
  MakeFolder(output.path);
  if (!arguments.do_train) return std::nullopt;

  if (output.resume_from == "last") return NewestCheckpoint(output.path, log);
  if (!output.resume_from.empty()) {
    if (!fs::is_directory(output.resume_from)) {
      throw Error(fmt::format("there is no checkpoint folder {}", output.resume_from),
                  "--resume_from_checkpoint True takes the last one of --output_dir");
    }
    io::CheckCheckpoint(output.resume_from);
    return output.resume_from;
  }
  if (output.overwrite) {
    if (!output.no_resume && IsUnfinishedRunOf(arguments)) {
      if (const auto newest = io::NewestWholeCheckpoint(output.path, log)) {
        log.Info(
            fmt::format("continuing the unfinished run in {} from step {}; --no_resume starts "
                        "afresh instead",
                        output.path.string(), newest->step));
        return newest->path;
      }
    }
    DeleteOldRun(output.path, log);
    return std::nullopt;
  }
  if (IsUnused(output.path)) return std::nullopt;
  if (io::ListCheckpoints(output.path).empty()) {
    throw Error(fmt::format("the output folder {} is not empty", output.path.string()),
                "choose another --output_dir, or pass --overwrite_output_dir");
  }
  const fs::path newest = NewestCheckpoint(output.path, log);
  log.Info(
      fmt::format("checkpoint found, resuming training at {}; to avoid this, change "
                  "--output_dir or add --overwrite_output_dir to train from scratch",
                  newest.string()));
  return newest;
}

}  // namespace hagane::cli
