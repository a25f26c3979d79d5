// What every layer needs to know about the micro-batch in hand.
#pragma once

#include <cstdint>

#include "base/packed_batch.h"
#include "base/run_context.h"
#include "kernels/dropout.h"
#include "nn/arena.h"
#include "nn/model.h"
#include "nn/parameters.h"

namespace hagane::nn {

struct Step {
  const RunContext& ctx;
  const PackedBatch& batch;
  DropoutKey dropout;
  ParameterSet* parameters = nullptr;
  const uint32_t* first_token_indices =
      nullptr;  // [sequences] zeros: keys of rows that are first tokens

  int64_t tokens() const { return batch.tokens(); }
  int64_t sequences() const { return batch.sequences(); }
  kernels::RowKeys token_keys() const {
    return {batch.token_sample.data(), batch.token_index.data()};
  }
  kernels::RowKeys first_token_keys() const { return {batch.samples.data(), first_token_indices}; }
  kernels::DropoutSpec Dropout(float p, int layer, kernels::DropoutSite site) const {
    return {dropout.enabled ? p : 0.0f, dropout.seed, dropout.step, static_cast<uint32_t>(layer),
            site};
  }
};

// Rows of the residual stream: float32, and the same as a matrix operand (in float32 runs the same
// memory).
struct Stream {
  float* value = nullptr;
  Operand operand;

  static Stream Take(Arena* arena, int64_t count, bool bf16_operands) {
    Stream stream;
    stream.value = arena->Take<float>(count);
    if (bf16_operands) {
      stream.operand.b16 = arena->Take<bf16>(count);
    } else {
      stream.operand.f32 = stream.value;
    }
    return stream;
  }
};

// A gradient in two parts that the next kernel adds: dy + dy2 (dy2 may be null). Both may be
// overwritten by who receives them.
struct GradientPair {
  float* dy = nullptr;
  float* dy2 = nullptr;
};

// weight and bias of a LayerNorm, as parameter indices.
struct LayerNormParameters {
  int weight = -1, bias = -1;
};

// Declares "NAME.weight" and "NAME.bias" (encoder_layer.cc).
LayerNormParameters DeclareLayerNorm(ParameterSet* parameters, const std::string& name,
                                     int64_t width);

}  // namespace hagane::nn
