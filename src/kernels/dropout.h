// Counter-based dropout (Philox4x32-10): the mask is a function of its coordinates, so nothing is
// stored and the backward pass draws it again.
//
//   key     = {seed low, seed high}
//   counter = {element / 4, step, sample, layer << 8 | site}; element % 4 picks one of the 4 words
//   keep    = word >= p * 2^32;  a kept value is scaled by 1 / (1 - p)
//
// `element` is the position inside the sequence: token_index * width + column for rows, and
// (head * length + query) * length + key for attention probabilities. It never depends on the
// packed batch, on ranks or on threads.
#pragma once

#include <cstdint>

#include "base/bf16.h"
#include "base/run_context.h"

namespace hagane::kernels {

// Where in the network a mask is drawn; values are part of the reproducibility contract: never
// change.
enum class DropoutSite : uint32_t {
  kEmbeddings = 0,
  kAttentionProbs = 1,
  kAttentionOutput = 2,
  kFeedForwardOutput = 3,
  kHeadInput = 4,
  kHeadHidden = 5,
};

struct DropoutSpec {
  float p = 0.0f;  // probability of zeroing, 0 <= p < 1; 0 switches it off
  uint64_t seed = 0;
  uint32_t step = 0;  // global update step * micro-batches + micro-batch: distinct for each forward
  uint32_t layer = 0;
  DropoutSite site = DropoutSite::kEmbeddings;

  bool active() const { return p > 0.0f; }
};

// Which sequence and which token of it each row is (PackedBatch::token_sample / token_index; for
// per-sequence rows: samples[] and zeros).
struct RowKeys {
  const uint32_t* sample = nullptr;
  const uint32_t* token = nullptr;
};

// y = dropout(x); also its backward (dx = dropout(dy) with the same spec). y may be x. y_bf16 (may
// be null) also receives y rounded. p == 0 copies. width must be a multiple of 4.
void Dropout(const RunContext& ctx, const DropoutSpec& spec, RowKeys keys, int64_t rows,
             int64_t width, const float* x, float* y, bf16* y_bf16);

// The 32-bit word for one element, by Random123: the reference of every vectorised version.
uint32_t DropoutWord(const DropoutSpec& spec, uint32_t sample, uint64_t element);

}  // namespace hagane::kernels
