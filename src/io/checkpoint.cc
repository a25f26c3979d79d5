#include "io/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "io/atomic_write.h"
#include "io/file_descriptor.h"
#include "io/file_system.h"
#include "io/json.h"
#include "io/manifest.h"

namespace hagane::io {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kDeletedEnding = ".deleted";
constexpr const char* kTrainerState = "trainer_state.json";
constexpr const char* kOptimizer = "optimizer.safetensors";

std::optional<int64_t> ParseStep(std::string_view digits) {
  int64_t step = 0;
  const auto end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, step);
  if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != end || step < 0) {
    return std::nullopt;
  }
  return step;
}

// The step in the manifest, for folders can be renamed; that of the name where there is none.
int64_t StepOf(const CheckpointInfo& checkpoint) {
  if (!HasManifest(checkpoint.path)) return checkpoint.step;
  try {
    const Json manifest = ReadManifest(checkpoint.path);
    const auto step = manifest.find("step");
    return step != manifest.end() && step->is_number_integer() ? step->get<int64_t>()
                                                               : checkpoint.step;
  } catch (const Error&) {
    return checkpoint.step;  // damaged: CheckCheckpoint says why
  }
}

}  // namespace

fs::path CheckpointPath(const fs::path& output_dir, int64_t step) {
  return output_dir / fmt::format("{}{}", kPrefix, step);
}

std::vector<CheckpointInfo> ListCheckpoints(const fs::path& output_dir) {
  std::vector<CheckpointInfo> checkpoints;
  std::error_code error;
  for (fs::directory_iterator it(output_dir, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kPrefix) || !it->is_directory(error)) continue;
    if (const auto step = ParseStep(std::string_view(name).substr(kPrefix.size()))) {
      checkpoints.push_back({it->path(), *step});
    }
  }
  std::sort(checkpoints.begin(), checkpoints.end(),
            [](const auto& a, const auto& b) { return a.step < b.step; });
  return checkpoints;
}

void CheckCheckpoint(const fs::path& folder) {
  if (HasManifest(folder)) {
    VerifyManifest(folder);
  } else {
    OpenModelWeights(folder);
    if (ReadTrainerState(folder).contains(kOwnStateKey)) {
      throw Error(fmt::format("{} is missing", (folder / kManifestName).string()),
                  "the checkpoint is damaged; use an older one");
    }
  }
}

std::optional<CheckpointInfo> NewestWholeCheckpoint(const fs::path& output_dir, Log& log) {
  auto checkpoints = ListCheckpoints(output_dir);
  for (CheckpointInfo& checkpoint : checkpoints) checkpoint.step = StepOf(checkpoint);
  std::sort(checkpoints.begin(), checkpoints.end(),
            [](const auto& a, const auto& b) { return a.step > b.step; });
  for (const CheckpointInfo& checkpoint : checkpoints) {
    try {
      CheckCheckpoint(checkpoint.path);
      return checkpoint;
    } catch (const Error& error) {
      log.Warning(fmt::format("skipping {}: {}", checkpoint.path.string(), error.what()));
    }
  }
  return std::nullopt;
}

std::vector<fs::path> CheckpointsToDelete(std::vector<CheckpointInfo> checkpoints, int limit,
                                          const std::optional<fs::path>& best) {
  std::vector<fs::path> leaving;
  if (limit <= 0 || checkpoints.empty()) return leaving;
  std::sort(checkpoints.begin(), checkpoints.end(),
            [](const auto& a, const auto& b) { return a.step < b.step; });
  size_t kept = checkpoints.size();
  for (size_t i = 0; i + 1 < checkpoints.size() && kept > static_cast<size_t>(limit); ++i) {
    if (best && checkpoints[i].path.filename() == best->filename()) continue;
    leaving.push_back(checkpoints[i].path);
    --kept;
  }
  return leaving;
}

void DeleteCheckpoint(const fs::path& folder) {
  const fs::path doomed =
      folder.parent_path() / fmt::format(".{}{}", folder.filename().string(), kDeletedEnding);
  RemoveTree(doomed);  // of an earlier, interrupted attempt
  if (Files().Rename(folder.c_str(), doomed.c_str(), 0) != 0) {
    throw SystemError("cannot delete", folder, errno);
  }
  RemoveTree(doomed);
}

int SweepLeftovers(const fs::path& output_dir) {
  int count = SweepUnfinished(output_dir);
  std::vector<fs::path> doomed;
  for (const auto& entry : fs::directory_iterator(output_dir)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(fmt::format(".{}", kPrefix)) && name.ends_with(kDeletedEnding)) {
      doomed.push_back(entry.path());
    }
  }
  for (const fs::path& path : doomed) RemoveTree(path);
  return count + static_cast<int>(doomed.size());
}

void WriteTrainerState(const fs::path& folder, const Json& state) {
  WriteFileAtomically(folder / kTrainerState, DumpPython(state, 2, /*sort_keys=*/true) + "\n");
}

Json ReadTrainerState(const fs::path& folder) {
  const fs::path path = folder / kTrainerState;
  Json state = ReadJsonFile(path, kTrainerStateLimits);
  if (!state.is_object()) throw Error(fmt::format("{} is not a JSON object", path.string()));
  return state;
}

bool HasOptimizerState(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kOptimizer, ignored);
}

void WriteOptimizerState(const fs::path& folder, const std::vector<Moments>& moments,
                         int64_t step) {
  std::vector<TensorToWrite> tensors;
  for (const Moments& moment : moments) {
    const auto add = [&](const char* kind, std::span<const float> values) {
      tensors.push_back({fmt::format("{}.{}", kind, moment.parameter),
                         DType::kF32,
                         {static_cast<int64_t>(values.size())},
                         std::as_bytes(values)});
    };
    add("exp_avg", moment.exp_avg);
    add("exp_avg_sq", moment.exp_avg_sq);
  }
  WriteSafetensors(folder / kOptimizer, tensors,
                   {{"format", "pt"}, {"step", std::to_string(step)}});
}

OptimizerState::OptimizerState(const fs::path& folder)
    : file_(OpenSafetensors(folder / kOptimizer)) {
  const auto found = file_->metadata().find("step");
  const auto step = found == file_->metadata().end() ? std::nullopt : ParseStep(found->second);
  if (!step) throw Error(fmt::format("{} does not say its step", file_->origin()));
  step_ = *step;
}

void OptimizerState::Read(const std::string& parameter, std::span<float> exp_avg,
                          std::span<float> exp_avg_sq) const {
  const auto read = [&](const char* kind, std::span<float> out) {
    const std::string name = fmt::format("{}.{}", kind, parameter);
    const TensorView* view = file_->Find(name);
    if (view == nullptr) {
      throw Error(fmt::format("{} does not hold {}", file_->origin(), name),
                  "the checkpoint is of another model");
    }
    if (view->dtype != DType::kF32 || view->elements() != static_cast<int64_t>(out.size())) {
      throw Error(fmt::format("{}: {} has {} {} values, {} F32 ones are needed", file_->origin(),
                              name, view->elements(), DTypeName(view->dtype), out.size()),
                  "the checkpoint is of another model");
    }
    CopyToFloat(*view, out);
  };
  read("exp_avg", exp_avg);
  read("exp_avg_sq", exp_avg_sq);
}

}  // namespace hagane::io
