#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hagane::train {

int64_t WarmupSteps(const ScheduleOptions& options, int64_t max_steps) {
  if (options.warmup_steps > 0) return options.warmup_steps;
  return static_cast<int64_t>(std::ceil(options.warmup_ratio * static_cast<double>(max_steps)));
}

double ScheduleFactor(const ScheduleOptions& options, int64_t step, int64_t max_steps,
                      double base_lr) {
  if (options.type == ScheduleType::kConstant) return 1.0;
  const int64_t warmup = WarmupSteps(options, max_steps);
  const auto s = static_cast<double>(step);
  if (step < warmup) return s / static_cast<double>(std::max<int64_t>(1, warmup));
  const double left = static_cast<double>(std::max<int64_t>(1, max_steps - warmup));
  const double progress = static_cast<double>(step - warmup) / left;
  constexpr double kPi = std::numbers::pi;
  switch (options.type) {
    case ScheduleType::kConstant:
    case ScheduleType::kConstantWithWarmup:
      return 1.0;
    case ScheduleType::kLinear:
      return std::max(0.0, static_cast<double>(max_steps - step) / left);
    case ScheduleType::kCosine: {
      const double cycles = options.num_cycles < 0 ? 0.5 : options.num_cycles;
      return std::max(0.0, 0.5 * (1.0 + std::cos(kPi * cycles * 2.0 * progress)));
    }
    case ScheduleType::kCosineWithRestarts: {
      if (progress >= 1.0) return 0.0;
      const double cycles = options.num_cycles < 0 ? 1.0 : options.num_cycles;
      return std::max(0.0, 0.5 * (1.0 + std::cos(kPi * std::fmod(cycles * progress, 1.0))));
    }
    case ScheduleType::kPolynomial: {
      if (step > max_steps) return options.lr_end / base_lr;
      const double lr = (base_lr - options.lr_end) * std::pow(1.0 - progress, options.power);
      return (lr + options.lr_end) / base_lr;
    }
    case ScheduleType::kInverseSqrt: {
      // transformers: timescale = warmup steps, or 10,000 without; shifted so that it starts at 1.
      const double timescale = warmup > 0 ? static_cast<double>(warmup) : 10000.0;
      const double shift = timescale - static_cast<double>(warmup);
      return 1.0 / std::sqrt((s + shift) / timescale);
    }
  }
  return 1.0;
}

const char* ScheduleName(ScheduleType type) {
  switch (type) {
    case ScheduleType::kLinear:
      return "linear";
    case ScheduleType::kCosine:
      return "cosine";
    case ScheduleType::kCosineWithRestarts:
      return "cosine_with_restarts";
    case ScheduleType::kPolynomial:
      return "polynomial";
    case ScheduleType::kConstant:
      return "constant";
    case ScheduleType::kConstantWithWarmup:
      return "constant_with_warmup";
    case ScheduleType::kInverseSqrt:
      return "inverse_sqrt";
  }
  return "";
}

}  // namespace hagane::train
