// dropout -> dense -> activation -> dropout -> out on the first token of each sequence, and the
// loss.
#pragma once

#include "nn/encoder_layer.h"

namespace hagane::nn {

class ClassificationHead {
 public:
  using Config = HeadConfig;
  static constexpr bool kFirstTokensOnly = true;

  ClassificationHead(const EncoderConfig& encoder, const Config& config,
                     const ModelOptions& options, ParameterSet* parameters);

  struct Saved {
    const float* x = nullptr;  // first-token rows, [sequences, hidden]
    Stream input;              // [sequences, hidden] after the input dropout
    float* z = nullptr;        // [sequences, hidden] before the activation
    Stream hidden;             // after activation and dropout
    float* logits = nullptr;   // [sequences, outputs]
    float* dlogits = nullptr;  // [sequences, outputs], filled by the loss
    Operand dlogits_operand;
    Operand dz;  // scratch of backward
  };
  // `x`: where the encoder will put the first-token rows, [sequences, hidden].
  Saved Plan(Arena* arena, const Stream& x, int64_t sequences, bool bf16_operands) const;

  // Writes saved.logits.
  void Forward(const Step& step, const Saved& saved) const;
  // From saved.dlogits to dx [sequences, hidden], adding the parameters' gradients. `scratch`:
  // [sequences, hidden].
  void Backward(const Step& step, const Saved& saved, float* scratch, float* dx) const;

  // By the problem type (kernels/loss.h); dlogits may be null.
  double Loss(const PackedBatch& batch, double scale, const float* logits, float* dlogits) const;
  // Every sequence has a label.
  bool HasLabels(const PackedBatch& batch) const;
  double LinearFlops(const PackedBatch& batch) const;

 private:
  const Config config_;
  const ProblemType problem_;
  const float label_smoothing_;
  int layer_;  // of the dropout keys: one above the last encoder layer
  Linear dense_, out_;
};

}  // namespace hagane::nn
