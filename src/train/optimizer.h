// AdamW over a model's parameters: moments, clipping by the global norm, weight decay groups.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/run_context.h"
#include "nn/parameters.h"
#include "train/options.h"

namespace hagane::train {

class Optimizer {
 public:
  // `parameters` must outlive the optimizer.
  Optimizer(const RunContext& ctx, const OptimizerOptions& options, nn::ParameterSet* parameters);

  // The global L2 norm of the gradients in the ParameterSet.
  double GradientNorm() const;
  // One update with those gradients, which are zeroed afterwards. `norm`: GradientNorm(), for
  // clipping; it must be finite, or every weight would become NaN.
  void Step(double learning_rate, double norm);

  // Updates done; moments in the layout of the flat buffers.
  int64_t steps() const { return steps_; }
  AlignedBuffer<float>& exp_avg() { return exp_avg_; }
  AlignedBuffer<float>& exp_avg_sq() { return exp_avg_sq_; }
  const AlignedBuffer<float>& exp_avg() const { return exp_avg_; }
  const AlignedBuffer<float>& exp_avg_sq() const { return exp_avg_sq_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 private:
  // A run of neighbouring parameters with or without weight decay.
  struct Range {
    int64_t begin = 0, end = 0;
    bool decay = false;
  };

  const RunContext& ctx_;
  OptimizerOptions options_;
  nn::ParameterSet* parameters_;
  AlignedBuffer<float> exp_avg_, exp_avg_sq_;
  std::vector<Range> ranges_;
  int64_t steps_ = 0;
};

}  // namespace hagane::train
