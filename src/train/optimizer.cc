#include "train/optimizer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/profile.h"
#include "kernels/adamw.h"

namespace hagane::train {

Optimizer::Optimizer(const RunContext& ctx, const OptimizerOptions& options,
                     nn::ParameterSet* parameters)
    : ctx_(ctx), options_(options), parameters_(parameters) {
  const auto size = static_cast<size_t>(parameters->flat_size());
  exp_avg_.Resize(size);
  exp_avg_sq_.Resize(size);
  std::fill(exp_avg_.begin(), exp_avg_.end(), 0.0f);
  std::fill(exp_avg_sq_.begin(), exp_avg_sq_.end(), 0.0f);
  for (const nn::Parameter& parameter : parameters->list()) {
    const int64_t end = parameter.offset + parameter.size;
    if (!ranges_.empty() && ranges_.back().decay == parameter.decay) {
      ranges_.back().end = end;  // an alignment gap in between is zeros and stays so
    } else {
      ranges_.push_back({parameter.offset, end, parameter.decay});
    }
  }
}

double Optimizer::GradientNorm() const {
  const ProfilePart part(ctx_, "optimizer");
  return std::sqrt(kernels::SumOfSquares(ctx_, parameters_->flat_size(), parameters_->grads()));
}

void Optimizer::Step(double learning_rate, double norm) {
  const ProfilePart part(ctx_, "optimizer");
  HAGANE_CHECK(std::isfinite(norm), "an update with a gradient that is not finite");
  float clip = 1.0f;
  if (options_.max_grad_norm > 0) {
    clip = static_cast<float>(std::min(1.0, options_.max_grad_norm / (norm + 1e-6)));
  }
  ++steps_;
  for (const Range& range : ranges_) {
    kernels::AdamWArgs args;
    args.size = range.end - range.begin;
    args.grad = parameters_->grads() + range.begin;
    args.param = parameters_->values() + range.begin;
    args.exp_avg = exp_avg_.data() + range.begin;
    args.exp_avg_sq = exp_avg_sq_.data() + range.begin;
    if (parameters_->has_copies()) args.param_bf16 = parameters_->copies() + range.begin;
    args.zeroed = parameters_->grads() + range.begin;
    args.clip = clip;
    args.lr = learning_rate;
    args.beta1 = options_.beta1;
    args.beta2 = options_.beta2;
    args.eps = options_.epsilon;
    args.weight_decay = range.decay ? options_.weight_decay : 0.0;
    args.step = steps_;
    kernels::AdamW(ctx_, args);
  }
}

}  // namespace hagane::train
