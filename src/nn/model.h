// An encoder with a head for sequences or for answer spans: parameters, forward, backward.
//
//   auto model = nn::LoadModel(ctx, folder, config, options, &report);
//   model->Reserve(largest_tokens, largest_sequences);
//   double loss_sum = model->ForwardBackward(batch, {seed, step}, 1.0 / samples);   // adds
//   gradients
//
// Not thread safe: one caller; kernels use the threads of `ctx` inside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/packed_batch.h"
#include "base/run_context.h"
#include "nn/encoder_config.h"
#include "nn/parameters.h"

namespace hagane::nn {

struct ModelOptions {
  ProblemType problem = ProblemType::kSingleLabel;
  int outputs = 2;
  bool bf16 = false;
  float label_smoothing = 0.0f;
  uint64_t seed = 42;                    // of newly initialised tensors
  bool ignore_mismatched_sizes = false;  // a head tensor of another shape is made anew
  bool init_from_scratch = false;        // no weights are read: everything is new
};

// What loading did, by the names as the checkpoint (unused) or the model (others) spells them.
struct LoadReport {
  std::string weights_file;              // empty when initialised from scratch
  int64_t loaded = 0;                    // tensors
  std::vector<std::string> unused;       // in the file, not in the model
  std::vector<std::string> initialized;  // in the model, not in the file: new
  std::vector<std::string> mismatched;   // "classifier.weight: 3x20 in the file, 2x20 here": new
};

// Keys of the random streams of one forward pass.
struct DropoutKey {
  uint64_t seed = 0;
  uint32_t step = 0;    // distinct for every micro-batch of the run
  bool enabled = true;  // false: all dropout off (parity with the reference)
};

class Model {
 public:
  virtual ~Model() = default;

  virtual const EncoderConfig& config() const = 0;
  virtual const ModelOptions& options() const = 0;
  virtual ParameterSet& parameters() = 0;
  virtual const ParameterSet& parameters() const = 0;

  // Sizes the activation arena; larger batches later grow it. `training`: keep what backward needs.
  virtual void Reserve(int64_t tokens, int64_t sequences, bool training) = 0;
  // Bytes that arena takes.
  virtual size_t ActivationBytes(int64_t tokens, int64_t sequences, bool training) const = 0;

  // Called with [begin, end) of the flat gradient buffer when that part is final; backward order.
  using GradientReady = std::function<void(int64_t begin, int64_t end)>;

  // Forward, loss and backward of one micro-batch. Adds scale * d(loss sum) to the gradients and
  // returns the loss sum over the batch: of each row, or of each row and output (regression,
  // multi-label); divide by LossTerms to get PyTorch's mean. `logits`, when not empty, receives
  // LogitRows(batch) x outputs.
  virtual double ForwardBackward(const PackedBatch& batch, const DropoutKey& dropout, double scale,
                                 std::span<float> logits, const GradientReady& ready) = 0;

  // Forward without dropout; logits [LogitRows(batch), outputs]. Returns the loss sum when the
  // batch has labels, else 0.
  virtual double Evaluate(const PackedBatch& batch, std::span<float> logits) = 0;

  // Rows of logits: one for each sequence, or, for answer spans, one for each token.
  int64_t LogitRows(const PackedBatch& batch) const {
    return options().problem == ProblemType::kSpan ? batch.tokens() : batch.sequences();
  }

  // What the loss sum of `sequences` rows is divided by for the mean. (A span's loss is the mean of
  // its two cross entropies: one term.)
  int64_t LossTerms(int64_t sequences) const {
    const bool one =
        options().problem == ProblemType::kSingleLabel || options().problem == ProblemType::kSpan;
    return one ? sequences : sequences * options().outputs;
  }
  // Useful floating-point operations of a forward pass over `batch` (times 3 with backward):
  // 2 x parameters of the Linear layers x tokens, plus attention; the full model, no cut counted
  // out.
  virtual double ForwardFlops(const PackedBatch& batch) const = 0;

  // Call after parameters changed other than by the optimiser (loading): refreshes bf16 copies.
  virtual void ParametersChanged() = 0;
};

// Families known, for messages: "bert, distilbert, electra, roberta".
std::string SupportedModelTypes();

// The encoder config.json describes. Throws an Error naming key and value for what is unsupported
// (another model_type, position_embedding_type other than absolute, ...). `origin` names the file.
EncoderConfig ParseEncoderConfig(const nlohmann::ordered_json& config, const std::string& origin);
// config.json's "architectures" entry: "BertForSequenceClassification", or, for spans,
// "BertForQuestionAnswering".
std::string ArchitectureName(const nlohmann::ordered_json& config, const std::string& origin,
                             ProblemType problem = ProblemType::kSingleLabel);

// Builds the model of `config` and reads its weights from `folder` (io::OpenModelWeights).
std::unique_ptr<Model> LoadModel(const RunContext& ctx, const std::filesystem::path& folder,
                                 const nlohmann::ordered_json& config, const std::string& origin,
                                 const ModelOptions& options, LoadReport* report);

// Reads the weights of `folder` (a checkpoint of this very model) into it: every tensor must be
// there with its shape.
void ReloadWeights(const std::filesystem::path& folder, Model* model);
// Writes model.safetensors (float32 masters, metadata {"format": "pt"}). `values` are those of
// `parameters`, or a copy of them.
void SaveWeights(const ParameterSet& parameters, const float* values,
                 const std::filesystem::path& file);

}  // namespace hagane::nn
