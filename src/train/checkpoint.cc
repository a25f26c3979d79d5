#include "train/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/atomic_write.h"
#include "io/checkpoint.h"
#include "io/file_system.h"
#include "io/manifest.h"
#include "train/schedule.h"

namespace hagane::train {

namespace {

// config.json, the tokenizer's files, trainer_state.json and the manifest.
constexpr uint64_t kRoomForOtherFiles = uint64_t{8} << 20;

void WriteOptimizer(const std::filesystem::path& folder, const nn::ParameterSet& parameters,
                    const CheckpointState& state) {
  std::vector<io::Moments> moments;
  for (const nn::Parameter& parameter : parameters.list()) {
    const auto size = static_cast<size_t>(parameter.size);
    moments.push_back({parameter.name,
                       {state.exp_avg + parameter.offset, size},
                       {state.exp_avg_sq + parameter.offset, size}});
  }
  io::WriteOptimizerState(folder, moments, state.optimizer_steps);
}

void ReadOptimizer(const std::filesystem::path& folder, const nn::ParameterSet& parameters,
                   Optimizer* optimizer) {
  const io::OptimizerState state(folder);
  for (const nn::Parameter& parameter : parameters.list()) {
    const auto size = static_cast<size_t>(parameter.size);
    state.Read(parameter.name, {optimizer->exp_avg().data() + parameter.offset, size},
               {optimizer->exp_avg_sq().data() + parameter.offset, size});
  }
  optimizer->set_steps(state.step());
}

// Under the names of the flags.
nlohmann::ordered_json ScheduleJson(const TrainOptions& options, int64_t max_steps) {
  return {{"lr_scheduler_type", ScheduleName(options.schedule.type)},
          {"max_steps", max_steps},
          {"warmup_steps", WarmupSteps(options.schedule, max_steps)},
          {"learning_rate", options.optimizer.learning_rate},
          {"weight_decay", options.optimizer.weight_decay},
          {"adam_beta1", options.optimizer.beta1},
          {"adam_beta2", options.optimizer.beta2},
          {"adam_epsilon", options.optimizer.epsilon},
          {"max_grad_norm", options.optimizer.max_grad_norm}};
}

}  // namespace

void CheckSchedule(const std::filesystem::path& folder, const TrainOptions& options,
                   int64_t max_steps) {
  if (!io::HasManifest(folder)) return;
  const auto manifest = io::ReadManifest(folder);
  const auto written = manifest.find("schedule");
  if (written == manifest.end() || !written->is_object()) return;
  std::vector<std::string> differences;
  const auto asked = ScheduleJson(options, max_steps);
  for (const auto& [name, value] : asked.items()) {
    const auto before = written->find(name);
    if (before != written->end() && *before != value) {
      differences.push_back(fmt::format("{} {} instead of {}", name, value.dump(), before->dump()));
    }
  }
  if (differences.empty()) return;
  throw Error(fmt::format("this run asks for another schedule than {} was written with: {}",
                          folder.string(), fmt::join(differences, ", ")),
              "repeat the flags of the first run, add --resume_despite_changes, or start afresh in "
              "another --output_dir");
}

std::optional<int64_t> GlobalBatchToKeep(const std::filesystem::path& folder,
                                         const TrainOptions& options) {
  const LoadedState loaded = ReadTrainerState(folder);
  if (!loaded.has_hagane_part || options.global_batch) return std::nullopt;
  // What no flag could ask for, a damaged file could.
  if (loaded.state.global_batch < 1 || loaded.state.global_batch > INT32_MAX) return std::nullopt;
  const bool another =
      options.batch_asked && options.BatchPerProcess() != loaded.state.batch_per_process;
  return another ? std::nullopt : std::optional(loaded.state.global_batch);
}

CheckpointState StateOf(const nn::Model& model, const Optimizer* optimizer,
                        const TrainerState& trainer) {
  CheckpointState state;
  state.weights = model.parameters().values();
  if (optimizer != nullptr) {
    state.exp_avg = optimizer->exp_avg().data();
    state.exp_avg_sq = optimizer->exp_avg_sq().data();
    state.optimizer_steps = optimizer->steps();
  }
  state.trainer = trainer;
  return state;
}

NewCheckpoint::NewCheckpoint(const std::filesystem::path& folder, const nn::Model& model,
                             bool with_optimizer, const TrainOptions& options,
                             const SaveModelFiles& save_model_files)
    : parameters_(model.parameters()), options_(options) {
  const auto weights = static_cast<uint64_t>(parameters_.count()) * sizeof(float);
  io::RequireFreeSpace(folder.parent_path(),
                       weights * (with_optimizer ? 3 : 1) + kRoomForOtherFiles);
  folder_.emplace(folder);
  save_model_files(folder_->path());
}

void NewCheckpoint::Write(const CheckpointState& state) {
  nn::SaveWeights(parameters_, state.weights, folder_->path() / "model.safetensors");
  if (state.exp_avg != nullptr) WriteOptimizer(folder_->path(), parameters_, state);
  const TrainerState& trainer = state.trainer;
  io::WriteTrainerState(folder_->path(), ToJson(trainer));
  const int64_t per_epoch = std::max<int64_t>(1, trainer.updates_per_epoch);
  io::WriteManifest(folder_->path(), {{"step", trainer.global_step},
                                      {"epoch", trainer.epoch},
                                      {"updates_in_epoch", trainer.global_step % per_epoch},
                                      {"seed", trainer.seed},
                                      {"data_seed", trainer.data_seed},
                                      {"global_batch", trainer.global_batch},
                                      {"schedule", ScheduleJson(options_, trainer.max_steps)},
                                      {"origin", io::ToJson(options_.origin)}});
  folder_->Commit();
}

bool ReadCheckpoint(const std::filesystem::path& folder, nn::Model* model, Optimizer* optimizer,
                    LoadedState* state) {
  io::CheckCheckpoint(folder);
  *state = ReadTrainerState(folder);
  nn::ReloadWeights(folder, model);
  if (!io::HasOptimizerState(folder)) {
    optimizer->set_steps(state->state.global_step);
    return false;
  }
  ReadOptimizer(folder, model->parameters(), optimizer);
  return true;
}

}  // namespace hagane::train
