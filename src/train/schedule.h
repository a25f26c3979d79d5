// Learning rates of transformers' schedulers (spec 3.3).
#pragma once

#include <cstdint>

#include "train/options.h"

namespace hagane::train {

// Factor on the base rate for the update that follows `step` finished ones (step 0: the first).
// polynomial needs base_lr > lr_end.
double ScheduleFactor(const ScheduleOptions& options, int64_t step, int64_t max_steps,
                      double base_lr);
// As --lr_scheduler_type has it.
const char* ScheduleName(ScheduleType type);
int64_t WarmupSteps(const ScheduleOptions& options, int64_t max_steps);

}  // namespace hagane::train
