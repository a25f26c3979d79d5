// dropout -> Linear to two logits for each token: that the answer starts, and that it ends there.
#pragma once

#include "nn/encoder_layer.h"

namespace hagane::nn {

class SpanHead {
 public:
  struct Config {
    float dropout = 0.0f;  // DistilBERT's qa_dropout; the others have none
  };
  static constexpr bool kFirstTokensOnly = false;

  // options.outputs must be 2.
  SpanHead(const EncoderConfig& encoder, const Config& config, const ModelOptions& options,
           ParameterSet* parameters);

  struct Saved {
    const float* x = nullptr;  // [tokens, hidden], the encoder's output
    Stream input;              // the same after the dropout; where there is none, the same memory
    float* logits = nullptr;   // [tokens, 2]
    float* dlogits = nullptr;  // [tokens, 2], filled by the loss
    Operand dlogits_operand;
  };
  // `x`: where the encoder will put its output, [tokens, hidden].
  Saved Plan(Arena* arena, const Stream& x, int64_t tokens, bool bf16_operands) const;

  // Writes saved.logits.
  void Forward(const Step& step, const Saved& saved) const;
  // From saved.dlogits to dx [tokens, hidden], adding the parameters' gradients. `scratch` is not
  // used.
  void Backward(const Step& step, const Saved& saved, float* scratch, float* dx) const;

  // kernels::SpanCrossEntropy; dlogits may be null.
  double Loss(const PackedBatch& batch, double scale, const float* logits, float* dlogits) const;
  bool HasLabels(const PackedBatch& batch) const { return !batch.start_labels.empty(); }
  double LinearFlops(const PackedBatch& batch) const;

 private:
  kernels::DropoutSpec DropoutOf(const Step& step) const;

  const Config config_;
  int layer_;  // of the dropout keys: one above the last encoder layer
  Linear out_;
};

}  // namespace hagane::nn
