// One post-norm Transformer layer (Vaswani et al. 2017, as BERT has it):
//
//   y1 = LayerNorm(x + dropout(attention(x) Wo + bo))
//   y2 = LayerNorm(y1 + dropout(act(y1 W1 + b1) W2 + b2))
//
// With `first_tokens_only` (the last layer under a classification head, which reads nothing else)
// all that follows the attention is computed for the first token of each sequence: the same values,
// fewer rows.
#pragma once

#include "nn/family.h"
#include "nn/linear.h"
#include "nn/step.h"

namespace hagane::nn {

class EncoderLayer {
 public:
  EncoderLayer(const EncoderConfig& config, const LayerNames& names, int index,
               bool first_tokens_only, ParameterSet* parameters);

  // What one forward leaves for backward.
  struct Saved {
    Stream x;     // input, [tokens, hidden]
    Operand qkv;  // [tokens, 3 hidden]
    float* log_sum_exp = nullptr;
    Operand context;          // attention's output; first_tokens_only: all rows, then only those
    Operand tail_context;     // [rows, hidden], the operand of Wo (= context without the cut)
    float* tail_x = nullptr;  // [rows, hidden], the residual (= x without the cut)
    float *z1 = nullptr, *mean1 = nullptr, *rstd1 = nullptr;
    Stream y1;      // [rows, hidden]
    Operand z_ffn;  // [rows, intermediate], before the activation; bf16: its slope there
    Operand a_ffn;  // [rows, intermediate]
    float *z2 = nullptr, *mean2 = nullptr, *rstd2 = nullptr;
    Stream y2;  // output, [rows, hidden]
  };
  // Scratch of backward, shared by all layers.
  struct Workspace {
    Operand dh;                  // [tokens, hidden]
    Operand dz_ffn;              // [tokens, intermediate]
    float* d_context = nullptr;  // [tokens, max(hidden, embedding)]
    float* spare = nullptr;      // [tokens, hidden], the second gradient buffer
    Operand dqkv;                // [tokens, 3 hidden]
  };

  Saved Plan(Arena* arena, int64_t tokens, int64_t sequences, bool bf16_operands) const;
  static Workspace PlanWorkspace(const EncoderConfig& config, Arena* arena, int64_t tokens,
                                 bool bf16_operands);

  // Reads saved.x, writes the rest of `saved`; the output is saved.y2.
  void Forward(const Step& step, const Saved& saved) const;
  // Gradient of y2 ([rows, hidden]) -> gradient of x ([tokens, hidden]), adding the parameters'.
  // The buffers of `gradient` have room for [tokens, hidden] and are reused for the result.
  GradientPair Backward(const Step& step, const Saved& saved, const Workspace& work,
                        GradientPair gradient) const;

  // First element of this layer's range in the flat buffers.
  int64_t first_parameter() const { return first_parameter_; }
  // 2 x parameters of the Linear layers: operations per token forward.
  double LinearFlopsPerToken() const;

 private:
  void ForwardAttention(const Step& step, const Saved& saved) const;
  void ForwardFeedForward(const Step& step, const Saved& saved) const;
  GradientPair BackwardFeedForward(const Step& step, const Saved& saved, const Workspace& work,
                                   GradientPair gradient) const;
  GradientPair BackwardAttention(const Step& step, const Saved& saved, const Workspace& work,
                                 GradientPair gradient) const;
  int64_t Rows(const Step& step) const {
    return first_tokens_only_ ? step.sequences() : step.tokens();
  }
  kernels::RowKeys RowKeysOf(const Step& step) const;

  const EncoderConfig& config_;
  int index_;
  bool first_tokens_only_;
  int64_t first_parameter_ = 0;
  Linear qkv_;  // query, key and value as one product: their tensors are neighbours
  Linear attention_output_, intermediate_, output_;
  LayerNormParameters attention_norm_, output_norm_;
};

// Declares "NAME.weight" [out, in] and "NAME.bias" [out].
Linear DeclareLinear(ParameterSet* parameters, const std::string& name, int64_t in, int64_t out,
                     bool head);

}  // namespace hagane::nn
