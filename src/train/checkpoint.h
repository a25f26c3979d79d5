// A checkpoint-<step> folder of a run: model, optimizer, trainer state.
#pragma once

#include <filesystem>

#include "nn/model.h"
#include "train/optimizer.h"
#include "train/trainer.h"
#include "train/trainer_state.h"

namespace hagane::train {

// Writes `folder` whole or not at all; throws an Error, before anything is written when there is no
// room for it. Of the options, the schedule and the origin go into the manifest.
void WriteCheckpoint(const std::filesystem::path& folder, const nn::Model& model,
                     const Optimizer* optimizer, const TrainerState& state,
                     const TrainOptions& options, const SaveModelFiles& save_model_files);

// Throws an Error that names what differs between the schedule in the folder's manifest and this
// run's. A folder without one (the Trainer's, an earlier version's) fits.
void CheckSchedule(const std::filesystem::path& folder, const TrainOptions& options,
                   int64_t max_steps);

// Reads weights, optimizer state and trainer state back. Returns false when the folder has no
// optimizer state of ours (a Trainer's folder, --save_only_model): then moments start at zero.
bool ReadCheckpoint(const std::filesystem::path& folder, nn::Model* model, Optimizer* optimizer,
                    LoadedState* state);

}  // namespace hagane::train
