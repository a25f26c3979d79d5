// Checkpoint names -> parameters, and back (spec of the key fixes: docs/formats.md).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "io/tensor_file.h"
#include "nn/encoder_model.h"

namespace hagane::nn {

namespace {

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// DataParallel's "module." in front goes; TensorFlow's names of LayerNorm become PyTorch's.
std::string ModernName(std::string name) {
  if (name.rfind("module.", 0) == 0) name = name.substr(7);
  constexpr std::array<std::array<std::string_view, 2>, 2> kRenamed = {
      {{".gamma", ".weight"}, {".beta", ".bias"}}};
  for (const auto& [old_end, new_end] : kRenamed) {
    if (EndsWith(name, old_end)) {
      name.resize(name.size() - old_end.size());
      name += new_end;
    }
  }
  return name;
}

// A buffer that older versions saved; not a weight.
bool IsBuffer(const std::string& name) { return EndsWith(name, "embeddings.position_ids"); }

struct Candidate {
  std::string name_in_file;
  const io::TensorView* tensor = nullptr;
};

// Tensors of the file by the names the model uses.
std::map<std::string, Candidate> ByModelName(const io::TensorFile& file,
                                             const std::string& base_prefix) {
  std::map<std::string, Candidate> renamed;
  bool has_prefix = false;
  for (const auto& [name, tensor] : file.tensors()) {
    std::string modern = ModernName(name);
    has_prefix |= modern.rfind(base_prefix, 0) == 0;
    const auto [at, is_new] = renamed.try_emplace(std::move(modern), Candidate{name, &tensor});
    if (!is_new) {
      throw Error(fmt::format("{}: \"{}\" and \"{}\" are the same tensor of the model",
                              file.origin(), at->second.name_in_file, name));
    }
  }
  if (has_prefix) return renamed;
  // A bare encoder (sentence-transformers): its names lack the prefix.
  std::map<std::string, Candidate> prefixed;
  for (auto& [name, candidate] : renamed) prefixed.emplace(base_prefix + name, candidate);
  return prefixed;
}

[[noreturn]] void ThrowMissing(const io::TensorFile& file, const std::string& name, size_t others) {
  throw Error(
      fmt::format("{}: no tensor \"{}\"{}", file.origin(), name,
                  others == 0 ? "" : fmt::format(" (nor {} others of the encoder)", others)),
      "the file is not of this model: check model_type in config.json, or download the "
      "model again; to start from random weights pass --init_from_scratch");
}

// One value that is not finite makes all logits so: better said here than after the first update.
void ReadInto(const io::TensorFile& file, const io::TensorView& tensor, const Parameter& parameter,
              float* values) {
  const std::span<float> target(values + parameter.offset, static_cast<size_t>(parameter.size));
  io::CopyToFloat(tensor, target);
  if (std::all_of(target.begin(), target.end(), [](float x) { return std::isfinite(x); })) return;
  throw Error(fmt::format("{}: tensor {} holds values that are NaN or infinite", file.origin(),
                          parameter.name),
              "the model diverged before it was saved, or the file is damaged; take another one");
}

void FillFromFile(const io::TensorFile& file, const std::string& base_prefix,
                  const ModelOptions& options, float initializer_range, ParameterSet* parameters,
                  LoadReport* report) {
  const auto candidates = ByModelName(file, base_prefix);
  std::vector<std::string> missing;
  std::set<std::string> used;
  for (const Parameter& parameter : parameters->list()) {
    const auto found = candidates.find(parameter.name);
    if (found == candidates.end()) {
      if (!parameter.head) {
        missing.push_back(parameter.name);
        continue;
      }
      parameters->Initialize(parameter, options.seed, initializer_range);
      report->initialized.push_back(parameter.name);
      continue;
    }
    used.insert(parameter.name);
    const io::TensorView& tensor = *found->second.tensor;
    if (tensor.shape == parameter.shape) {
      ReadInto(file, tensor, parameter, parameters->values());
      ++report->loaded;
      continue;
    }
    const std::string shapes =
        fmt::format("{} is {} in the file and {} here", found->second.name_in_file,
                    io::ShapeText(tensor.shape), io::ShapeText(parameter.shape));
    if (!parameter.head) {
      throw Error(fmt::format("{}: tensor {}", file.origin(), shapes),
                  "config.json does not belong to these weights; download both again");
    }
    if (!options.ignore_mismatched_sizes) {
      throw Error(fmt::format("{}: tensor {}", file.origin(), shapes),
                  "the model was fine-tuned for another number of labels; pass "
                  "--ignore_mismatched_sizes to start with a new head");
    }
    parameters->Initialize(parameter, options.seed, initializer_range);
    report->mismatched.push_back(shapes);
  }
  if (!missing.empty()) ThrowMissing(file, missing.front(), missing.size() - 1);
  for (const auto& [name, candidate] : candidates) {
    if (used.count(name) == 0 && !IsBuffer(name)) report->unused.push_back(candidate.name_in_file);
  }
}

std::unique_ptr<Model> MakeModel(const RunContext& ctx, const Family& family,
                                 const io::ModelConfig& config, const EncoderConfig& encoder,
                                 const ModelOptions& options) {
  if (options.problem != ProblemType::kSpan) {
    return std::make_unique<SequenceClassifier>(ctx, family, encoder, family.parse_head(config),
                                                options);
  }
  SpanHead::Config head;
  if (family.span_dropout_key != nullptr) {
    head.dropout = Probability(config, family.span_dropout_key, family.span_dropout);
  }
  return std::make_unique<QuestionAnswerer>(ctx, family, encoder, head, options);
}

}  // namespace

std::unique_ptr<Model> LoadModel(const RunContext& ctx, const std::filesystem::path& folder,
                                 const nlohmann::ordered_json& config, const std::string& origin,
                                 const ModelOptions& options, LoadReport* report) {
  const io::ModelConfig model_config(config, origin);
  const Family& family = FindFamily(model_config);
  const EncoderConfig encoder = ParseEncoderConfig(config, origin);
  std::unique_ptr<Model> model = MakeModel(ctx, family, model_config, encoder, options);
  ParameterSet& parameters = model->parameters();
  if (options.init_from_scratch) {
    for (const Parameter& parameter : parameters.list()) {
      parameters.Initialize(parameter, options.seed, encoder.initializer_range);
      report->initialized.push_back(parameter.name);
    }
  } else {
    const auto file = io::OpenModelWeights(folder);
    report->weights_file = file->origin();
    FillFromFile(*file, family.base_prefix, options, encoder.initializer_range, &parameters,
                 report);
  }
  model->ParametersChanged();
  return model;
}

void ReloadWeights(const std::filesystem::path& folder, Model* model) {
  const auto file = io::OpenModelWeights(folder);
  ParameterSet& parameters = model->parameters();
  for (const Parameter& parameter : parameters.list()) {
    const io::TensorView* tensor = file->Find(parameter.name);
    if (tensor == nullptr || tensor->shape != parameter.shape) {
      throw Error(
          fmt::format("{}: tensor {} of shape {} is {}", file->origin(), parameter.name,
                      io::ShapeText(parameter.shape),
                      tensor == nullptr ? "missing" : "of shape " + io::ShapeText(tensor->shape)),
          "the checkpoint is of another model; choose another output folder or pass "
          "--overwrite_output_dir");
    }
    ReadInto(*file, *tensor, parameter, parameters.values());
  }
  model->ParametersChanged();
}

void SaveWeights(const ParameterSet& parameters, const float* values,
                 const std::filesystem::path& file) {
  std::vector<io::TensorToWrite> tensors;
  for (const Parameter& parameter : parameters.list()) {
    const float* const begin = values + parameter.offset;
    tensors.push_back({parameter.name, io::DType::kF32, parameter.shape,
                       std::as_bytes(std::span(begin, static_cast<size_t>(parameter.size)))});
  }
  io::WriteSafetensors(file, tensors, {{"format", "pt"}});
}

}  // namespace hagane::nn
