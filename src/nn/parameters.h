// All trainable tensors of a model in one flat float32 buffer, with a gradient buffer and, under
// --bf16, a bf16 compute copy of the same layout. Order is forward order, so backward finishes
// ranges from the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bf16.h"
#include "base/run_context.h"
#include "kernels/gemm.h"

namespace hagane::nn {

enum class InitKind { kNormal, kZeros, kOnes };

struct Parameter {
  std::string name;  // as in the model's own state dict: "bert.encoder.layer.0.output.dense.weight"
  std::vector<int64_t> shape;
  int64_t offset = 0;  // first element in the flat buffers
  int64_t size = 0;
  bool decay = true;  // weight decay applies (not biases, not LayerNorm)
  bool head = false;  // may be missing from a checkpoint (head, pooler)
  InitKind init = InitKind::kNormal;
  int64_t zero_row = -1;  // row set to 0 at initialisation (padding_idx), or -1
};

class ParameterSet {
 public:
  // Declares a tensor; returns its index. `contiguous`: no alignment gap before it (fused Q, K, V).
  int Declare(Parameter parameter, bool contiguous = false);
  // Allocates the buffers (zero filled). No Declare afterwards.
  void Allocate(bool bf16_copy);

  const std::vector<Parameter>& list() const { return list_; }
  const Parameter* Find(const std::string& name) const;
  int64_t flat_size() const { return flat_size_; }  // alignment gaps included (always 0 in both)
  int64_t count() const;                            // trainable values

  float* values() { return values_.data(); }
  const float* values() const { return values_.data(); }
  float* grads() { return grads_.data(); }
  const float* grads() const { return grads_.data(); }
  bf16* copies() { return copies_.data(); }  // null without bf16
  bool has_copies() const { return !copies_.empty(); }

  const float* value(int index) const { return values_.data() + At(index).offset; }
  float* grad(int index) { return grads_.data() + At(index).offset; }
  // The weight as an operand in the run's precision; ld = columns.
  kernels::MatrixIn Operand(int index, int64_t ld, bool transposed) const;

  void ZeroGrads(const RunContext& ctx);
  void RefreshCopies(const RunContext& ctx);
  // N(0, range) for kNormal; a function of seed and name alone.
  void Initialize(const Parameter& parameter, uint64_t seed, float range);

 private:
  const Parameter& At(int index) const { return list_[static_cast<size_t>(index)]; }

  std::vector<Parameter> list_;
  int64_t flat_size_ = 0;
  AlignedBuffer<float> values_;
  AlignedBuffer<float> grads_;
  AlignedBuffer<bf16> copies_;
};

}  // namespace hagane::nn
