#include "train/checkpoint.h"

#include <fmt/format.h>

#include "base/error.h"
#include "io/atomic_write.h"
#include "io/checkpoint.h"
#include "io/tensor_file.h"

namespace hagane::train {

namespace {

constexpr const char* kWeights = "model.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kState = "trainer_state.json";

void WriteOptimizer(const nn::ParameterSet& parameters, const Optimizer& optimizer,
                    const std::filesystem::path& path) {
  std::vector<io::TensorToWrite> tensors;
  const auto add = [&](const std::string& prefix, const AlignedBuffer<float>& moments) {
    for (const nn::Parameter& parameter : parameters.list()) {
      tensors.push_back({prefix + parameter.name, io::DType::kF32, parameter.shape,
                         std::as_bytes(std::span(moments.data() + parameter.offset,
                                                 static_cast<size_t>(parameter.size)))});
    }
  };
  add("exp_avg.", optimizer.exp_avg());
  add("exp_avg_sq.", optimizer.exp_avg_sq());
  io::WriteSafetensors(path, tensors,
                       {{"format", "pt"}, {"steps", std::to_string(optimizer.steps())}});
}

void ReadOptimizer(const std::filesystem::path& path, const nn::ParameterSet& parameters,
                   int64_t steps, Optimizer* optimizer) {
  const auto file = io::OpenSafetensors(path);
  const auto read = [&](const std::string& prefix, AlignedBuffer<float>* moments) {
    for (const nn::Parameter& parameter : parameters.list()) {
      const io::TensorView* tensor = file->Find(prefix + parameter.name);
      if (tensor == nullptr || tensor->shape != parameter.shape) {
        throw Error(fmt::format("{}: no tensor {}{} of shape {}", path.string(), prefix,
                                parameter.name, io::ShapeText(parameter.shape)),
                    "resume from another checkpoint");
      }
      io::CopyToFloat(*tensor, std::span(moments->data() + parameter.offset,
                                         static_cast<size_t>(parameter.size)));
    }
  };
  read("exp_avg.", &optimizer->exp_avg());
  read("exp_avg_sq.", &optimizer->exp_avg_sq());
  optimizer->set_steps(steps);
}

}  // namespace

void WriteCheckpoint(const std::filesystem::path& folder, const nn::Model& model,
                     const Optimizer* optimizer, const TrainerState& state,
                     const SaveModelFiles& save_model_files) {
  io::AtomicFolder atomic(folder);
  save_model_files(atomic.path());
  nn::SaveWeights(model, atomic.path() / kWeights);
  if (optimizer != nullptr) {
    WriteOptimizer(model.parameters(), *optimizer, atomic.path() / kOptimizer);
  }
  io::WriteFileAtomically(atomic.path() / kState, ToJson(state));
  io::WriteManifest(atomic.path(), state.global_step);
  atomic.Commit();
}

bool ReadCheckpoint(const std::filesystem::path& folder, nn::Model* model, Optimizer* optimizer,
                    LoadedState* state) {
  *state = ReadTrainerState(folder / kState);
  nn::ReloadWeights(folder, model);
  if (!std::filesystem::exists(folder / kOptimizer)) {
    optimizer->set_steps(state->state.global_step);
    return false;
  }
  ReadOptimizer(folder / kOptimizer, model->parameters(), state->state.global_step, optimizer);
  return true;
}

}  // namespace hagane::train
