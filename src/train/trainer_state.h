// trainer_state.json: what the Trainer's users read and what a resumed run starts from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/observer.h"

namespace hagane::train {

struct TrainerState {
  int64_t global_step = 0;
  double epoch = 0;
  int64_t max_steps = 0;
  int64_t num_train_epochs = 0;
  int64_t train_batch_size = 0;
  int64_t logging_steps = 0, eval_steps = 0, save_steps = 0;
  double total_flos = 0;
  std::optional<double> best_metric;
  std::string best_model_checkpoint;  // empty: none
  std::vector<LogEntry> log_history;

  // Beyond the reference's keys, under "hagane": what exact resuming needs.
  uint64_t seed = 0, data_seed = 0;
  int64_t global_batch = 0;       // samples of a full update
  int64_t batch_per_process = 0;  // that was asked for; 0: not known
  int64_t updates_per_epoch = 0;
  double loss_sum = 0;       // of all updates, for train_loss
  double interval_loss = 0;  // since the last log
  int64_t interval_steps = 0;
};

// The file's content; io::WriteTrainerState writes it.
nlohmann::ordered_json ToJson(const TrainerState& state);

// Reads a folder's file, also one the Trainer wrote (then `has_hagane_part` is false). Throws an
// Error naming file and key.
struct LoadedState {
  TrainerState state;
  bool has_hagane_part = false;
};
LoadedState ReadTrainerState(const std::filesystem::path& folder);
// The same of its content. `origin` is what messages call it.
LoadedState ParseTrainerState(const nlohmann::ordered_json& json, const std::string& origin);

}  // namespace hagane::train
