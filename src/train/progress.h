// Where the training loop stands.
#pragma once

#include "train/trainer.h"

namespace hagane::train {

struct Trainer::Progress {
  TrainPlan plan;
  int64_t first_update = 0;  // of the epoch in hand; > 0 right after a resume in mid-epoch
  int64_t first_epoch = 0;
  int64_t examples_seen = 0, tokens_seen = 0;
  double useful_flops = 0, step_seconds = 0;
  double grad_norm = 0, learning_rate = 0;
  int64_t skipped_updates = 0;
  bool logged_this_step = false, saved_this_step = false;
};

}  // namespace hagane::train
