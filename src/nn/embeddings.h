// Word + position + token-type embeddings, LayerNorm, dropout; where the embeddings are narrower
// than the layers (ELECTRA), a projection follows.
#pragma once

#include "nn/encoder_layer.h"

namespace hagane::nn {

class Embeddings {
 public:
  Embeddings(const EncoderConfig& config, const EmbeddingNames& names, ParameterSet* parameters);

  struct Saved {
    float* sum = nullptr;  // [tokens, embedding] before the LayerNorm
    float *mean = nullptr, *rstd = nullptr;
    Stream normed;  // [tokens, embedding]
    Stream out;     // [tokens, hidden]; the same memory as normed without a projection
  };
  Saved Plan(Arena* arena, int64_t tokens, bool bf16_operands) const;

  // Writes `saved`; the output is saved.out.
  void Forward(const Step& step, const Saved& saved) const;
  // Takes the gradient of saved.out; `work` as for the layers.
  void Backward(const Step& step, const Saved& saved, const EncoderLayer::Workspace& work,
                GradientPair gradient) const;

  double LinearFlopsPerToken() const;

 private:
  bool projects() const { return projection_.weight >= 0; }
  kernels::DropoutSpec DropoutOf(const Step& step) const;

  const EncoderConfig& config_;
  int word_ = -1, position_ = -1, segment_ = -1;
  LayerNormParameters norm_;
  Linear projection_;
};

}  // namespace hagane::nn
