// Bidirectional multi-head self-attention over packed sequences, forward and backward.
//
// For each sequence of length L and each head of size d:
//   S = Q K^T / sqrt(d);  P = softmax(S) by rows;  P' = dropout(P);  O = P' V
// No S x S tensor leaves a thread's scratch: backward draws S and P again from Q, K and the saved
// row statistics. In bf16 (b16 pointers set) Q, K, V, O, P', dS and dO are bf16 operands, every sum
// and the softmax are float32.
//
// qkv is [tokens, 3 * hidden], each row q | k | v, hidden = heads * head_size, heads side by side.
// Work is cut by (sequence, head): bits do not depend on threads.
#pragma once

#include <cstdint>

#include "base/bf16.h"
#include "base/run_context.h"
#include "kernels/dropout.h"

namespace hagane::kernels {

struct AttentionShape {
  int sequences = 0;
  const int32_t* cu_seqlens = nullptr;  // [sequences + 1]
  const uint32_t* samples = nullptr;    // [sequences], dropout keys
  int heads = 0;
  int head_size = 0;  // multiple of 4
  DropoutSpec dropout;
};

struct AttentionForwardArgs {
  AttentionShape shape;
  const float* qkv = nullptr;  // exactly one of these two
  const bf16* qkv_bf16 = nullptr;
  float* log_sum_exp = nullptr;  // [heads, tokens] out, kept for backward; null in evaluation
  float* out = nullptr;          // [tokens, hidden]; exactly one of these two
  bf16* out_bf16 = nullptr;
};
void AttentionForward(const RunContext& ctx, const AttentionForwardArgs& args);

struct AttentionBackwardArgs {
  AttentionShape shape;
  const float* qkv = nullptr;
  const bf16* qkv_bf16 = nullptr;
  const float* log_sum_exp = nullptr;  // [heads, tokens]
  const float* dout = nullptr;  // [tokens, hidden] float32 gradient of the output; in bf16 it is
                                // rounded to bf16 first, as the operand it is
  float* dqkv = nullptr;        // [tokens, 3 * hidden] out; exactly one of these two
  bf16* dqkv_bf16 = nullptr;
};
void AttentionBackward(const RunContext& ctx, const AttentionBackwardArgs& args);

void AttentionForwardReference(const AttentionForwardArgs& args);
void AttentionBackwardReference(const AttentionBackwardArgs& args);

}  // namespace hagane::kernels
