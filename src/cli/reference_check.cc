#include "cli/reference_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "cli/reference_file.h"
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
    std::vector<float> expected(static_cast<size_t>(tensor->elements()));
    io::CopyToFloat(*tensor, expected);
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
  const Reference reference_values = ReadReference(*file, encoder);
  const data::Features& rows = reference_values.rows;
  const std::vector<float>& expected = reference_values.logits;

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
  check.logit_values.resize(expected.size());
  const auto terms = static_cast<double>(model->LossTerms(batch.sequences()));
  check.loss_value = model->ForwardBackward(batch, {0, 0, /*enabled=*/false}, 1.0 / terms,
                                            check.logit_values, nullptr) /
                     terms;

  const auto [least, most] = std::minmax_element(expected.begin(), expected.end());
  check.loss = {"loss", std::abs(check.loss_value - reference_values.loss),
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
