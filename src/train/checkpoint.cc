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
                    const Optimizer& optimizer) {
  std::vector<io::Moments> moments;
  for (const nn::Parameter& parameter : parameters.list()) {
    const auto size = static_cast<size_t>(parameter.size);
    moments.push_back({parameter.name,
                       {optimizer.exp_avg().data() + parameter.offset, size},
                       {optimizer.exp_avg_sq().data() + parameter.offset, size}});
  }
  io::WriteOptimizerState(folder, moments, optimizer.steps());
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

void WriteCheckpoint(const std::filesystem::path& folder, const nn::Model& model,
                     const Optimizer* optimizer, const TrainerState& state,
                     const TrainOptions& options, const SaveModelFiles& save_model_files) {
  const auto weights = static_cast<uint64_t>(model.parameters().count()) * sizeof(float);
  io::RequireFreeSpace(folder.parent_path(),
                       weights * (optimizer != nullptr ? 3 : 1) + kRoomForOtherFiles);
  io::AtomicFolder atomic(folder);
  save_model_files(atomic.path());
  nn::SaveWeights(model, atomic.path() / "model.safetensors");
  if (optimizer != nullptr) WriteOptimizer(atomic.path(), model.parameters(), *optimizer);
  io::WriteTrainerState(atomic.path(), ToJson(state));
  const int64_t per_epoch = std::max<int64_t>(1, state.updates_per_epoch);
  io::WriteManifest(atomic.path(), {{"step", state.global_step},
                                    {"epoch", state.epoch},
                                    {"updates_in_epoch", state.global_step % per_epoch},
                                    {"seed", state.seed},
                                    {"data_seed", state.data_seed},
                                    {"global_batch", state.global_batch},
                                    {"schedule", ScheduleJson(options, state.max_steps)},
                                    {"origin", io::ToJson(options.origin)}});
  atomic.Commit();
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
