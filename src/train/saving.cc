// When and how the loop saves, and what becomes of saves that fail. In a group rank 0 does it; the
// others go on, and wait for it where they need its state or its files.
#include <fmt/format.h>

#include <exception>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/checkpoint.h"
#include "io/file_system.h"
#include "io/output_lock.h"
#include "train/background_save.h"
#include "train/checkpoint.h"
#include "train/optimizer.h"
#include "train/trainer.h"

namespace hagane::train {

const Optimizer* Trainer::SavedOptimizer() const {
  return options_.save.only_model ? nullptr : optimizer_.get();
}

std::unique_ptr<NewCheckpoint> Trainer::BeginCheckpoint(int64_t step, bool with_optimizer) {
  const std::filesystem::path folder = io::CheckpointPath(options_.output_dir, step);
  observer_->OnMessage("Saving model checkpoint to " + folder.string());
  return std::make_unique<NewCheckpoint>(folder, *model_, with_optimizer, options_,
                                         save_model_files_);
}

void Trainer::SaveNow(const TrainerState& state, const Optimizer* optimizer) {
  if (!group_->leads()) return;
  FinishSave();
  BeginCheckpoint(state.global_step, optimizer != nullptr)
      ->Write(StateOf(*model_, optimizer, state));
  Saved(state.global_step);
}

void Trainer::SaveInTraining() {
  if (!group_->leads()) return;
  FinishSave();
  saving_step_ = state_.global_step;
  try {
    auto checkpoint = BeginCheckpoint(saving_step_, !options_.save.only_model);
    CheckpointState state = StateOf(*model_, SavedOptimizer(), state_);
    if (options_.save.in_background) {
      background_save_->Start(ctx_, std::move(checkpoint), std::move(state));
      return;
    }
    checkpoint->Write(state);
  } catch (const io::FolderTakenOver&) {
    throw;  // nothing may be written there any more
  } catch (const std::exception& error) {
    SaveFailed(error.what());
    return;
  }
  Saved(saving_step_);
}

void Trainer::FinishSave() {
  if (!background_save_->under_way()) return;
  try {
    background_save_->Finish();
  } catch (const std::exception& error) {
    SaveFailed(error.what());
    return;
  }
  Saved(saving_step_);
}

void Trainer::FinishSaveIfDone() {
  if (background_save_->IsDone()) FinishSave();
}

void Trainer::Saved(int64_t step) {
  last_saved_ = io::CheckpointPath(options_.output_dir, step);
  saved_step_ = step;
  if (state_.best_model_checkpoint == last_saved_.string()) RememberBest();
  DeleteOldCheckpoints();
}

void Trainer::SaveFailed(const std::string& reason) {
  const std::filesystem::path folder = io::CheckpointPath(options_.output_dir, saving_step_);
  observer_->OnWarning(fmt::format(
      "{} could not be saved: {}; training goes on, {}", folder.filename().string(), reason,
      last_saved_.empty() ? "without any checkpoint yet"
                          : "the last whole checkpoint is " + last_saved_.string()));
  if (state_.best_model_checkpoint == folder.string()) {
    state_.best_metric = saved_best_.metric;
    state_.best_model_checkpoint = saved_best_.checkpoint;
  }
}

void Trainer::RememberBest() { saved_best_ = {state_.best_metric, state_.best_model_checkpoint}; }

void Trainer::SaveIfUnsaved() {
  if (unsaved_) SaveNow(*unsaved_, SavedOptimizer());
  unsaved_.reset();
  group_->Barrier("rank 0 to save", comm::kWhileAlive);
}

void Trainer::DeleteOldCheckpoints() {
  if (!options_.save.total_limit) return;
  std::optional<std::filesystem::path> best;
  if (!saved_best_.checkpoint.empty()) best = saved_best_.checkpoint;
  std::vector<io::CheckpointInfo> checkpoints = io::ListCheckpoints(options_.output_dir);
  // A resumed run may have skipped a damaged one: it is replaced when its step is reached, and
  // until then must not count as the newest.
  std::erase_if(checkpoints,
                [&](const auto& checkpoint) { return checkpoint.step > state_.global_step; });
  for (const auto& old :
       io::CheckpointsToDelete(std::move(checkpoints), *options_.save.total_limit, best)) {
    observer_->OnMessage(
        fmt::format("Deleting older checkpoint [{}] due to args.save_total_limit", old.string()));
    try {
      io::DeleteCheckpoint(old);
    } catch (const Error& error) {
      observer_->OnWarning(error.what());
    }
  }
}

void Trainer::SaveModel() {
  if (!group_->leads()) return;
  const std::filesystem::path& folder = options_.output_dir;
  observer_->OnMessage("Saving model checkpoint to " + folder.string());
  const auto weights = static_cast<uint64_t>(model_->parameters().count()) * sizeof(float);
  io::RequireFreeSpace(folder, weights);
  save_model_files_(folder);
  nn::SaveWeights(model_->parameters(), model_->parameters().values(),
                  folder / "model.safetensors");
}

void Trainer::SaveState() {
  if (group_->leads()) io::WriteTrainerState(options_.output_dir, ToJson(state_));
}

}  // namespace hagane::train
