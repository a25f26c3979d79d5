#include "train/checkpoint.h"

#include <nlohmann/json.hpp>

#include "io/atomic_write.h"
#include "io/checkpoint.h"
#include "io/manifest.h"

namespace hagane::train {

namespace {

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

}  // namespace

void WriteCheckpoint(const std::filesystem::path& folder, const nn::Model& model,
                     const Optimizer* optimizer, const TrainerState& state,
                     const SaveModelFiles& save_model_files) {
  io::AtomicFolder atomic(folder);
  save_model_files(atomic.path());
  nn::SaveWeights(model, atomic.path() / "model.safetensors");
  if (optimizer != nullptr) WriteOptimizer(atomic.path(), model.parameters(), *optimizer);
  io::WriteTrainerState(atomic.path(), ToJson(state));
  io::WriteManifest(atomic.path(), {{"step", state.global_step},
                                    {"epoch", state.epoch},
                                    {"seed", state.seed},
                                    {"data_seed", state.data_seed},
                                    {"global_batch", state.global_batch}});
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
