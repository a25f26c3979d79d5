// A checkpoint-<step> folder of a run: model, optimizer, trainer state.
#pragma once

#include <filesystem>

#include "nn/model.h"
#include "train/optimizer.h"
#include "train/trainer.h"
#include "train/trainer_state.h"

namespace hagane::train {

// Writes `folder` whole or not at all.
void WriteCheckpoint(const std::filesystem::path& folder, const nn::Model& model,
                     const Optimizer* optimizer, const TrainerState& state,
                     const SaveModelFiles& save_model_files);

// Reads weights, optimizer state and trainer state back. Returns false when the folder has no
// optimizer state of ours (a Trainer's folder, --save_only_model): then moments start at zero.
bool ReadCheckpoint(const std::filesystem::path& folder, nn::Model* model, Optimizer* optimizer,
                    LoadedState* state);

}  // namespace hagane::train
