// The checkpoint-<step> folders of a run: which there are, which of them is whole, which may go,
// and the files of the training state. A checkpoint is written into an AtomicFolder, its manifest
// last.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "io/tensor_file.h"

namespace hagane::io {

struct CheckpointInfo {
  std::filesystem::path path;
  int64_t step = 0;
};

// output_dir / "checkpoint-<step>".
std::filesystem::path CheckpointPath(const std::filesystem::path& output_dir, int64_t step);

// All of them by the step in their names, lowest first; empty when the folder does not exist.
std::vector<CheckpointInfo> ListCheckpoints(const std::filesystem::path& output_dir);

// The part of trainer_state.json that only this program writes, which tells its folders from those
// of the Trainer.
inline constexpr const char* kOwnStateKey = "hagane";

// Throws an Error saying why the folder cannot be resumed from: it differs from its manifest; or,
// when the Trainer made it and it has none, its weights or trainer_state.json are damaged.
void CheckCheckpoint(const std::filesystem::path& folder);

// The newest one that passes CheckCheckpoint; each newer one is named in the log with the reason.
std::optional<CheckpointInfo> NewestWholeCheckpoint(const std::filesystem::path& output_dir,
                                                    Log& log);

// Rotation: which folders go, oldest first, so that `limit` are left. The newest and the best are
// always kept, so a limit of 1 leaves two where they differ. limit <= 0 keeps all.
std::vector<std::filesystem::path> CheckpointsToDelete(
    std::vector<CheckpointInfo> checkpoints, int limit,
    const std::optional<std::filesystem::path>& best);

// Takes the folder's name away first, so that half of it is never taken for a checkpoint.
void DeleteCheckpoint(const std::filesystem::path& folder);

// What killed runs left in the folder: unfinished files and checkpoints, half-deleted ones. Only
// for who holds its lock (io/output_lock.h). Returns how many there were.
int SweepLeftovers(const std::filesystem::path& output_dir);

// --- trainer_state.json: Hugging Face's keys, indent 2, sorted, final newline; NaN and infinities
// as Python has them. The keys are the caller's.
void WriteTrainerState(const std::filesystem::path& folder, const nlohmann::ordered_json& state);
nlohmann::ordered_json ReadTrainerState(const std::filesystem::path& folder);

// --- optimizer.safetensors: the moments of AdamW as flat float32 tensors "exp_avg.<parameter>" and
// "exp_avg_sq.<parameter>", the update count in the metadata.
struct Moments {
  std::string parameter;
  std::span<const float> exp_avg, exp_avg_sq;
};
bool HasOptimizerState(const std::filesystem::path& folder);
void WriteOptimizerState(const std::filesystem::path& folder, const std::vector<Moments>& moments,
                         int64_t step);

class OptimizerState {
 public:
  // Throws an Error when the file is missing or damaged.
  explicit OptimizerState(const std::filesystem::path& folder);
  int64_t step() const { return step_; }
  // Throws an Error when the parameter is not there or has another size.
  void Read(const std::string& parameter, std::span<float> exp_avg,
            std::span<float> exp_avg_sq) const;

 private:
  std::unique_ptr<TensorFile> file_;
  int64_t step_ = 0;
};

}  // namespace hagane::io
