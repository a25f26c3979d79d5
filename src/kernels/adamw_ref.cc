#include <cmath>

#include "kernels/adamw.h"

namespace hagane::kernels {

void AdamWReference(const AdamWArgs& args) {
  const auto t = static_cast<double>(args.step);
  const double correction1 = 1.0 - std::pow(args.beta1, t);
  const double correction2 = 1.0 - std::pow(args.beta2, t);
  for (int64_t i = 0; i < args.size; ++i) {
    const double g = static_cast<double>(args.clip) * static_cast<double>(args.grad[i]);
    double p = static_cast<double>(args.param[i]) * (1.0 - args.lr * args.weight_decay);
    const double m = args.beta1 * static_cast<double>(args.exp_avg[i]) + (1.0 - args.beta1) * g;
    const double v =
        args.beta2 * static_cast<double>(args.exp_avg_sq[i]) + (1.0 - args.beta2) * g * g;
    p -= args.lr / correction1 * m / (std::sqrt(v) / std::sqrt(correction2) + args.eps);
    args.exp_avg[i] = static_cast<float>(m);
    args.exp_avg_sq[i] = static_cast<float>(v);
    args.param[i] = static_cast<float>(p);
    if (args.zeroed != nullptr) args.zeroed[i] = 0.0f;
    if (args.param_bf16 != nullptr) args.param_bf16[i] = ToBf16(args.param[i]);
  }
}

}  // namespace hagane::kernels
