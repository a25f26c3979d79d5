// Writes a checkpoint while training goes on, from a copy of the state.
#pragma once

#include <future>
#include <memory>

#include "base/aligned_buffer.h"
#include "base/run_context.h"
#include "train/checkpoint.h"

namespace hagane::train {

// All calls are from one thread, the training's. The destructor waits for the save under way.
class BackgroundSave {
 public:
  // Bytes of the copy.
  static int64_t CopyBytes(const nn::ParameterSet& parameters, bool with_optimizer);

  // Copies the state and begins to write it. No save may be under way.
  void Start(const RunContext& ctx, std::unique_ptr<NewCheckpoint> checkpoint,
             CheckpointState state);
  // Started, and its result not yet taken by Finish.
  bool under_way() const { return writing_.valid(); }
  // Finish would not have to wait.
  bool IsDone() const;
  // Waits until the checkpoint is whole; throws what kept it from being so.
  void Finish() { writing_.get(); }

 private:
  AlignedBuffer<float> copy_;  // made by the first save, kept for the others
  std::future<void> writing_;  // last: waits in its destructor, when the copy is still there
};

}  // namespace hagane::train
