// An encoder with a head on it: the models of this program.
#pragma once

#include "nn/classification_head.h"
#include "nn/encoder.h"
#include "nn/span_head.h"

namespace hagane::nn {

// Head is ClassificationHead or SpanHead: a class with the members that both have.
template <class Head>
class EncoderModel final : public Model {
 public:
  // Declares and allocates all parameters (zeros); weights.cc fills them.
  EncoderModel(const RunContext& ctx, const Family& family, const EncoderConfig& encoder,
               const typename Head::Config& head, const ModelOptions& options);

  const EncoderConfig& config() const override { return config_; }
  const ModelOptions& options() const override { return options_; }
  ParameterSet& parameters() override { return parameters_; }
  const ParameterSet& parameters() const override { return parameters_; }
  void Reserve(int64_t tokens, int64_t sequences, bool training) override;
  size_t ActivationBytes(int64_t tokens, int64_t sequences, bool training) const override;
  double ForwardBackward(const PackedBatch& batch, const DropoutKey& dropout, double scale,
                         std::span<float> logits, const GradientReady& ready) override;
  double Evaluate(const PackedBatch& batch, std::span<float> logits) override;
  double ForwardFlops(const PackedBatch& batch) const override {
    return encoder_.Flops(batch) + head_.LinearFlops(batch);
  }
  void ParametersChanged() override { parameters_.RefreshCopies(ctx_); }

 private:
  struct Plan {
    Encoder::Saved encoder;
    typename Head::Saved head;
  };
  Plan MakePlan(Arena* arena, int64_t tokens, int64_t sequences, bool training) const;
  // Forward of `batch` in the arena.
  Plan Forward(const Step& step, bool training, std::span<float> logits);
  Step MakeStep(const PackedBatch& batch, const DropoutKey& dropout, bool training);

  const RunContext& ctx_;
  const EncoderConfig config_;
  const ModelOptions options_;
  ParameterSet parameters_;
  Encoder encoder_;
  Head head_;
  Arena arena_;
  std::vector<uint32_t> zeros_;  // Step::first_token_indices
};

using SequenceClassifier = EncoderModel<ClassificationHead>;
using QuestionAnswerer = EncoderModel<SpanHead>;
extern template class EncoderModel<ClassificationHead>;
extern template class EncoderModel<SpanHead>;

}  // namespace hagane::nn
