// Bias + dropout + residual + LayerNorm in one pass, forward and backward.
//
//   z = dropout(h + bias) + residual        (bias and residual may be null)
//   y = (z - mean) * rstd * gamma + beta,   rstd = 1 / sqrt(var + eps), biased variance over the
//   row
//
// Statistics are float32 with the mean taken first, then the squared deviations (no E[x^2] -
// E[x]^2). width is a multiple of 4 (all Hugging Face encoders; checked). Matrices are [rows,
// width], dense.
#pragma once

#include <cstdint>

#include "base/bf16.h"
#include "base/run_context.h"
#include "kernels/dropout.h"

namespace hagane::kernels {

struct LayerNormForwardArgs {
  int64_t rows = 0, width = 0;
  const float* h = nullptr;
  const float* bias = nullptr;      // [width] or null
  const float* residual = nullptr;  // [rows, width] or null
  const float* gamma = nullptr;     // [width]
  const float* beta = nullptr;      // [width]
  float eps = 1e-12f;
  DropoutSpec dropout;  // of h + bias
  RowKeys keys;
  float* z = nullptr;      // out, kept for backward; may be h
  float* mean = nullptr;   // [rows] out
  float* rstd = nullptr;   // [rows] out
  float* y = nullptr;      // out; must not overlap inputs
  bf16* y_bf16 = nullptr;  // out or null: y rounded, the operand of the next product
};
void LayerNormForward(const RunContext& ctx, const LayerNormForwardArgs& args);

// dz (the residual's gradient) and dh = dropout mask of dz (the product's output gradient, a matrix
// operand: float32 or bf16), and the column sums for gamma, beta, bias ADDED to their gradients.
struct LayerNormBackwardArgs {
  int64_t rows = 0, width = 0;
  const float* dy = nullptr;
  const float* dy2 = nullptr;  // second gradient to add to dy first (residual branch), or null
  const float* z = nullptr;
  const float* mean = nullptr;
  const float* rstd = nullptr;
  const float* gamma = nullptr;
  DropoutSpec dropout;
  RowKeys keys;
  float* dz = nullptr;      // out [rows, width]; may be dy or dy2
  float* dh = nullptr;      // out or null; may equal dz only when dropout is off
  bf16* dh_bf16 = nullptr;  // out or null
  float* dgamma = nullptr;  // [width] +=
  float* dbeta = nullptr;   // [width] +=
  float* dbias = nullptr;   // [width] += column sums of dh, or null
};
void LayerNormBackward(const RunContext& ctx, const LayerNormBackwardArgs& args);

// Plain loops (double sums), for tests.
void LayerNormForwardReference(const LayerNormForwardArgs& args);
void LayerNormBackwardReference(const LayerNormBackwardArgs& args);

}  // namespace hagane::kernels
