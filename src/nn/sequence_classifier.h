// Embeddings, layers and classification head put together: the Model of this version.
#pragma once

#include <vector>

#include "nn/classification_head.h"
#include "nn/embeddings.h"
#include "nn/encoder_layer.h"
#include "nn/family.h"
#include "nn/model.h"

namespace hagane::nn {

class SequenceClassifier : public Model {
 public:
  // Declares and allocates all parameters (zeros); weights.cc fills them.
  SequenceClassifier(const RunContext& ctx, const Family& family, const EncoderConfig& encoder,
                     const HeadConfig& head, const ModelOptions& options);

  const EncoderConfig& config() const override { return config_; }
  const ModelOptions& options() const override { return options_; }
  ParameterSet& parameters() override { return parameters_; }
  const ParameterSet& parameters() const override { return parameters_; }
  void Reserve(int64_t tokens, int64_t sequences, bool training) override;
  size_t ActivationBytes(int64_t tokens, int64_t sequences, bool training) const override;
  double ForwardBackward(const PackedBatch& batch, const DropoutKey& dropout, double scale,
                         std::span<float> logits, const GradientReady& ready) override;
  double Evaluate(const PackedBatch& batch, std::span<float> logits) override;
  double ForwardFlops(const PackedBatch& batch) const override;
  void ParametersChanged() override { parameters_.RefreshCopies(ctx_); }

 private:
  // Everything one pass needs, laid out in the arena. Without `training` the layers share two sets.
  struct Plan {
    Embeddings::Saved embeddings;
    std::vector<EncoderLayer::Saved> layers;
    ClassificationHead::Saved head;
    EncoderLayer::Workspace work;
    float* gradient = nullptr;  // [tokens, hidden]
  };
  Plan MakePlan(Arena* arena, int64_t tokens, int64_t sequences, bool training) const;
  Plan Prepare(int64_t tokens, int64_t sequences, bool training);
  Step MakeStep(const PackedBatch& batch, const DropoutKey& dropout);
  void Forward(const Step& step, Plan* plan) const;
  double Loss(const PackedBatch& batch, double scale, const ClassificationHead::Saved& head,
              float* dlogits) const;

  const RunContext& ctx_;
  const EncoderConfig config_;
  const ModelOptions options_;
  ParameterSet parameters_;
  std::vector<EncoderLayer> layers_;
  std::unique_ptr<Embeddings> embeddings_;
  std::unique_ptr<ClassificationHead> head_;
  Arena arena_;
  std::vector<uint32_t> zeros_;  // Step::first_token_indices
};

}  // namespace hagane::nn
