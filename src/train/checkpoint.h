// A checkpoint-<step> folder of a run: model, optimizer, trainer state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "io/atomic_write.h"
#include "nn/model.h"
#include "train/optimizer.h"
#include "train/trainer.h"
#include "train/trainer_state.h"

namespace hagane::train {

// What changes from step to step. The arrays are in the layout of nn::ParameterSet.
struct CheckpointState {
  const float* weights = nullptr;
  const float* exp_avg = nullptr;  // null, both: without the optimizer
  const float* exp_avg_sq = nullptr;
  int64_t optimizer_steps = 0;
  TrainerState trainer;
};
// Views of what the model and the optimizer hold. `optimizer` may be null.
CheckpointState StateOf(const nn::Model& model, const Optimizer* optimizer,
                        const TrainerState& trainer);

// A checkpoint folder that becomes whole or never was there.
class NewCheckpoint {
 public:
  // Begins it beside its final name, with what save_model_files writes. Throws an Error, before
  // anything is written when there is no room for it. Of the options, the schedule and the origin
  // go into the manifest. `model` and `options` must outlive this.
  NewCheckpoint(const std::filesystem::path& folder, const nn::Model& model, bool with_optimizer,
                const TrainOptions& options, const SaveModelFiles& save_model_files);

  // Writes the rest and gives the folder its name. Reads nothing of the model that training
  // changes, so it may be called from another thread.
  void Write(const CheckpointState& state);

  int64_t flat_size() const { return parameters_.flat_size(); }

 private:
  std::optional<io::AtomicFolder> folder_;
  const nn::ParameterSet& parameters_;
  const TrainOptions& options_;
};

// The samples of an update that a run which goes on from `folder` takes over, so that another
// number of processes changes only the split; nothing where the options ask for another batch
// (Trainer refuses what contradicts the checkpoint) or the folder does not say its own.
std::optional<int64_t> GlobalBatchToKeep(const std::filesystem::path& folder,
                                         const TrainOptions& options);

// Throws an Error that names what differs between the schedule in the folder's manifest and this
// run's. A folder without one (the Trainer's, an earlier version's) fits.
void CheckSchedule(const std::filesystem::path& folder, const TrainOptions& options,
                   int64_t max_steps);

// Reads weights, optimizer state and trainer state back. Returns false when the folder has no
// optimizer state of ours (a Trainer's folder, --save_only_model): then moments start at zero.
bool ReadCheckpoint(const std::filesystem::path& folder, nn::Model* model, Optimizer* optimizer,
                    LoadedState* state);

}  // namespace hagane::train
