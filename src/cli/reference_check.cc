#include "cli/reference_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "data/features.h"
#include "data/packing.h"
#include "io/model_folder.h"
#include "io/tensor_file.h"
#include "nn/model.h"

namespace hagane::cli {

namespace {

constexpr double kLossLimit = 2e-5;
constexpr double kOwnGradientLimit = 1e-4;
constexpr double kAllGradientsLimit = 1e-6;
constexpr double kBf16LogitsLimit = 3e-2;

const io::TensorView& Require(const io::TensorFile& file, const std::string& name) {
  if (const io::TensorView* tensor = file.Find(name)) return *tensor;
  if (file.Find("out.start_logits") != nullptr) {
    throw Error(
        fmt::format("{} is a reference of question answering, which comes later", file.origin()),
        "make one of a sequence-classification model");
  }
  throw Error(fmt::format("{}: no tensor \"{}\"", file.origin(), name),
              "docs/verify.md shows how to write a reference file");
}

std::vector<float> Floats(const io::TensorView& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  io::CopyToFloat(tensor, values);
  return values;
}

bool IsFloating(io::DType dtype) {
  return dtype == io::DType::kF64 || dtype == io::DType::kF32 || dtype == io::DType::kF16 ||
         dtype == io::DType::kBf16;
}

[[noreturn]] void WrongShape(const io::TensorFile& file, const std::string& name) {
  throw Error(fmt::format("{}: tensor \"{}\" is {}", file.origin(), name,
                          io::ShapeText(Require(file, name).shape)),
              "in.* are [sequences, length], out.logits [sequences, outputs]");
}

// The padded batch as rows without padding.
data::Features ReadBatch(const io::TensorFile& file, const nn::EncoderConfig& encoder) {
  const io::TensorView& id_tensor = Require(file, "in.input_ids");
  if (id_tensor.shape.size() != 2) WrongShape(file, "in.input_ids");
  const auto rows = static_cast<size_t>(id_tensor.shape[0]);
  const auto length = static_cast<size_t>(id_tensor.shape[1]);
  const auto ids = io::CopyToInt(id_tensor, "in.input_ids");
  const auto mask = io::CopyToInt(Require(file, "in.attention_mask"), "in.attention_mask");
  std::vector<int64_t> types;
  if (const io::TensorView* tensor = file.Find("in.token_type_ids")) {
    types = io::CopyToInt(*tensor, "in.token_type_ids");
    if (types.size() != ids.size()) WrongShape(file, "in.token_type_ids");
  }
  if (mask.size() != ids.size()) WrongShape(file, "in.attention_mask");

  data::Features batch;
  batch.row_start.push_back(0);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = row * length; i < (row + 1) * length; ++i) {
      if (mask[i] == 0) continue;
      if (ids[i] < 0 || ids[i] >= encoder.vocab_size) {
        throw Error(fmt::format("{}: in.input_ids holds {}, the model has {} tokens", file.origin(),
                                ids[i], encoder.vocab_size));
      }
      batch.ids.push_back(static_cast<int32_t>(ids[i]));
      if (types.empty()) continue;
      if (types[i] < 0 || types[i] >= std::max(1, encoder.type_vocab_size)) {
        throw Error(fmt::format("{}: in.token_type_ids holds {}, the model has {} types",
                                file.origin(), types[i], encoder.type_vocab_size));
      }
      batch.segments.push_back(static_cast<uint8_t>(types[i]));
    }
    batch.row_start.push_back(batch.tokens());
    const int tokens = batch.length(static_cast<int64_t>(row));
    if (tokens == 0 || tokens > encoder.longest_sequence()) {
      throw Error(fmt::format("{}: row {} of the batch has {} tokens, the model takes 1 to {}",
                              file.origin(), row, tokens, encoder.longest_sequence()));
    }
  }
  return batch;
}

// The labels' type says what the problem is, as it does for the reference.
void ReadLabels(const io::TensorFile& file, int outputs, data::Features* batch) {
  const io::TensorView& tensor = Require(file, "in.labels");
  const auto rows = static_cast<size_t>(batch->rows());
  batch->outputs = outputs;
  batch->has_labels = true;
  if (!IsFloating(tensor.dtype)) {
    batch->problem = ProblemType::kSingleLabel;
    for (const int64_t label : io::CopyToInt(tensor, "in.labels")) {
      if (label < 0 || label >= outputs) {
        throw Error(fmt::format("{}: in.labels holds {}, out.logits has {} outputs", file.origin(),
                                label, outputs));
      }
      batch->class_labels.push_back(static_cast<int32_t>(label));
    }
    if (batch->class_labels.size() != rows) WrongShape(file, "in.labels");
    return;
  }
  batch->problem = tensor.shape.size() == 1 ? ProblemType::kRegression : ProblemType::kMultiLabel;
  batch->float_labels = Floats(tensor);
  const auto wanted = rows * static_cast<size_t>(outputs);
  if (batch->float_labels.size() != wanted) WrongShape(file, "in.labels");
}

double Norm(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

double DistanceNorm(const std::vector<float>& expected, const float* actual) {
  double sum = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = static_cast<double>(actual[i]) - expected[i];
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

// NaN anywhere gives NaN: std::max alone would lose it.
double LargestDifference(const std::vector<float>& expected, const std::vector<float>& actual) {
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(static_cast<double>(actual[i]) - expected[i]);
    if (!(difference <= largest)) largest = difference;
    if (std::isnan(difference)) return difference;
  }
  return largest;
}

void CompareGradients(const io::TensorFile& file, const nn::ParameterSet& parameters,
                      const ReferenceCheckOptions& options, ReferenceCheck* check) {
  struct Entry {
    Comparison comparison;
    double own_norm;
  };
  std::vector<Entry> entries;
  double all_squared = 0;
  for (const nn::Parameter& parameter : parameters.list()) {
    const io::TensorView* tensor = file.Find("grad." + parameter.name);
    if (tensor == nullptr) {
      check->without_reference.push_back(parameter.name);
      continue;
    }
    if (tensor->shape != parameter.shape) {
      throw Error(fmt::format("{}: tensor \"grad.{}\" is {}, the parameter is {}", file.origin(),
                              parameter.name, io::ShapeText(tensor->shape),
                              io::ShapeText(parameter.shape)));
    }
    const std::vector<float> expected = Floats(*tensor);
    const double norm = Norm(expected);
    all_squared += norm * norm;
    entries.push_back(
        {{parameter.name, DistanceNorm(expected, parameters.grads() + parameter.offset), -1},
         norm});
  }
  for (const auto& [name, tensor] : file.tensors()) {
    if (name.starts_with("grad.") && parameters.Find(name.substr(5)) == nullptr) {
      throw Error(fmt::format("{}: \"{}\" is the gradient of no parameter of this model",
                              file.origin(), name),
                  "the reference was made with another model");
    }
  }
  for (Entry& entry : entries) {
    if (!options.bf16) {
      entry.comparison.allowed = options.tolerance * (kOwnGradientLimit * entry.own_norm +
                                                      kAllGradientsLimit * std::sqrt(all_squared));
    }
    check->gradients.push_back(std::move(entry.comparison));
  }
}

}  // namespace

bool ReferenceCheck::ok() const {
  return loss.ok() && logits.ok() &&
         std::all_of(gradients.begin(), gradients.end(), [](const auto& g) { return g.ok(); });
}

ReferenceCheck CheckAgainstReference(const RunContext& ctx,
                                     const std::filesystem::path& model_folder,
                                     const std::filesystem::path& reference,
                                     const ReferenceCheckOptions& options) {
  const auto file = io::OpenSafetensors(reference);
  const auto config = io::ModelConfig::Read(model_folder);
  const nn::EncoderConfig encoder = nn::ParseEncoderConfig(config.raw(), config.origin());
  const io::TensorView& logits_tensor = Require(*file, "out.logits");
  const io::TensorView& loss_tensor = Require(*file, "out.loss");
  data::Features rows = ReadBatch(*file, encoder);
  if (logits_tensor.shape.size() != 2 || logits_tensor.shape[0] != rows.rows() ||
      logits_tensor.shape[1] < 1 || logits_tensor.shape[1] > (1 << 20)) {
    WrongShape(*file, "out.logits");
  }
  if (loss_tensor.elements() != 1) WrongShape(*file, "out.loss");
  ReadLabels(*file, static_cast<int>(logits_tensor.shape[1]), &rows);

  nn::ModelOptions model_options;
  model_options.problem = rows.problem;
  model_options.outputs = rows.outputs;
  model_options.bf16 = options.bf16;
  nn::LoadReport report;
  const auto model =
      nn::LoadModel(ctx, model_folder, config.raw(), config.origin(), model_options, &report);
  if (!report.initialized.empty()) {
    throw Error(fmt::format("{}: no tensor \"{}\", a new one cannot be compared",
                            report.weights_file, report.initialized.front()),
                "save the whole model that made the reference");
  }

  std::vector<int64_t> order(static_cast<size_t>(rows.rows()));
  std::iota(order.begin(), order.end(), int64_t{0});
  PackedBatch batch;
  data::PackRows(
      rows, order, 0,
      {encoder.position_offset, encoder.positions_count_from_pad ? encoder.pad_token_id : -1},
      &batch);
  model->Reserve(batch.tokens(), batch.sequences(), true);
  model->parameters().ZeroGrads(ctx);
  ReferenceCheck check;
  check.logit_values.resize(static_cast<size_t>(logits_tensor.elements()));
  const auto terms = static_cast<double>(model->LossTerms(batch.sequences()));
  check.loss_value = model->ForwardBackward(batch, {0, 0, /*enabled=*/false}, 1.0 / terms,
                                            check.logit_values, nullptr) /
                     terms;

  const std::vector<float> expected = Floats(logits_tensor);
  const auto [least, most] = std::minmax_element(expected.begin(), expected.end());
  check.loss = {"loss", std::abs(check.loss_value - Floats(loss_tensor)[0]),
                options.bf16 ? -1 : options.tolerance * kLossLimit};
  check.logits = {
      "logits", LargestDifference(expected, check.logit_values),
      options.tolerance * (options.bf16 ? kBf16LogitsLimit * (*most - *least) : kLossLimit)};
  const nn::ParameterSet& parameters = model->parameters();
  CompareGradients(*file, parameters, options, &check);
  check.gradient_values.assign(parameters.grads(), parameters.grads() + parameters.flat_size());
  return check;
}

}  // namespace hagane::cli
