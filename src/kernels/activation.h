// Bias + activation between the two products of a feed-forward block, and in heads.
//
//   z = h + bias (kept for backward, may be written over h);   a = act(z)
//   backward: dz = da * act'(z), a matrix operand; dbias += column sums of dz
//
// For backward forward keeps z, or under --bf16 the slope act'(z), rounded: half the memory, and
// nothing but a product is left to do.
//
// gelu is the exact one, 0.5 z (1 + erf(z / sqrt 2)), max error vs double 1e-6 relative to max(1,
// |z|); gelu_new is the tanh form 0.5 z (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bf16.h"
#include "base/run_context.h"
#include "kernels/activation_kinds.h"

namespace hagane::kernels {

// Hugging Face names: gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, relu, silu / swish, tanh.
// Throws an Error that names the known ones.
Activation ParseActivation(std::string_view name);

struct ActivationForwardArgs {
  int64_t rows = 0, width = 0;
  Activation activation = Activation::kGelu;
  const float* h = nullptr;
  const float* bias = nullptr;  // [width] or null
  float* z = nullptr;           // out or null; may be h
  float* a = nullptr;           // out or null
  bf16* a_bf16 = nullptr;       // out or null
  bf16* slope_bf16 = nullptr;   // out or null
};
void ActivationForward(const RunContext& ctx, const ActivationForwardArgs& args);

struct ActivationBackwardArgs {
  int64_t rows = 0, width = 0;
  Activation activation = Activation::kGelu;
  const float* da = nullptr;
  const float* z = nullptr;  // exactly one of these two
  const bf16* slope_bf16 = nullptr;
  float* dz = nullptr;      // out or null; may be da or z
  bf16* dz_bf16 = nullptr;  // out or null
  float* dbias = nullptr;   // [width] += or null
};
void ActivationBackward(const RunContext& ctx, const ActivationBackwardArgs& args);

// dbias[width] += column sums of x [rows, width] with ld elements between rows. Rows are summed in
// fixed chunks in order, so bits do not depend on threads. The bf16 form widens first.
void AddColumnSums(const RunContext& ctx, int64_t rows, int64_t width, int64_t ld, const float* x,
                   float* sums);
void AddColumnSums(const RunContext& ctx, int64_t rows, int64_t width, int64_t ld, const bf16* x,
                   float* sums);

void ActivationForwardReference(const ActivationForwardArgs& args);
void ActivationBackwardReference(const ActivationBackwardArgs& args);

}  // namespace hagane::kernels
