// Embeddings and layers: what all models share below their heads.
#pragma once

#include <memory>
#include <vector>

#include "nn/embeddings.h"
#include "nn/encoder_layer.h"
#include "nn/family.h"
#include "nn/model.h"

namespace hagane::nn {

class Encoder {
 public:
  // `first_tokens_only`: the head reads nothing but the first token of each sequence, and the last
  // layer computes nothing else. `config` must outlive the encoder.
  Encoder(const Family& family, const EncoderConfig& config, bool first_tokens_only,
          ParameterSet* parameters);

  // Everything one pass needs, laid out in the arena. Without `training` the layers share two sets.
  struct Saved {
    Embeddings::Saved embeddings;
    std::vector<EncoderLayer::Saved> layers;
    EncoderLayer::Workspace work;  // training only
    float* gradient = nullptr;     // [tokens, hidden], training only: of the output; see Backward
    // [tokens, hidden], or with first_tokens_only [sequences, hidden].
    const Stream& output() const { return layers.back().y2; }
  };
  Saved Plan(Arena* arena, int64_t tokens, int64_t sequences, bool bf16_operands,
             bool training) const;

  void Forward(const Step& step, const Saved& saved) const;
  // From saved.gradient (which is overwritten), adding the parameters' gradients. Calls `ready`, if
  // any, with the ranges of the flat buffer in backward order; the first one begins at the last
  // layer and ends where the buffer does, so it takes the head's gradients along: few values.
  void Backward(const Step& step, const Saved& saved, const Model::GradientReady& ready) const;

  // Of the Linear layers and of attention's two products.
  double Flops(const PackedBatch& batch) const;

 private:
  const EncoderConfig& config_;
  std::unique_ptr<Embeddings> embeddings_;
  std::vector<EncoderLayer> layers_;
};

}  // namespace hagane::nn
