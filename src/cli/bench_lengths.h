// Token lengths of the usual training sets, so that `hagane bench step` needs no data.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hagane::cli {

constexpr std::string_view kLengthTasks = "mrpc, qqp, sst2, squad";

// `count` lengths drawn from the distribution of the task's training set, in an order that is
// always the same. Throws a usage Error for an unknown task.
std::vector<int32_t> BenchLengths(std::string_view task, int count);

}  // namespace hagane::cli
