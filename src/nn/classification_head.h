// dropout -> dense -> activation -> dropout -> out on the first token of each sequence, and the
// loss.
#pragma once

#include "nn/encoder_layer.h"

namespace hagane::nn {

class ClassificationHead {
 public:
  ClassificationHead(const EncoderConfig& encoder, const HeadConfig& config, int outputs,
                     ParameterSet* parameters);

  struct Saved {
    Stream input;              // [sequences, hidden] after the input dropout
    float* z = nullptr;        // [sequences, hidden] before the activation
    Stream hidden;             // after activation and dropout
    float* logits = nullptr;   // [sequences, outputs]
    float* dlogits = nullptr;  // [sequences, outputs], filled by the loss
    Operand dlogits_operand;
    Operand dz;  // scratch of backward
  };
  Saved Plan(Arena* arena, int64_t sequences, bool bf16_operands) const;

  // `x`: first-token rows, [sequences, hidden]. Writes saved.logits.
  void Forward(const Step& step, const Stream& x, const Saved& saved) const;
  // From saved.dlogits to dx [sequences, hidden], adding the parameters' gradients. `scratch`:
  // [sequences, hidden].
  void Backward(const Step& step, const Saved& saved, float* scratch, float* dx) const;

  double LinearFlopsPerSequence() const;

 private:
  const HeadConfig config_;
  int layer_;  // of the dropout keys: one above the last encoder layer
  Linear dense_, out_;
};

}  // namespace hagane::nn
