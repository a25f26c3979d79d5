// How the reference prints and stores numbers: dict lines, metric blocks, results files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hagane::cli {

using MetricValue = std::variant<int64_t, double>;
using NamedMetrics = std::vector<std::pair<std::string, MetricValue>>;

// A metric as the reference types it: those called "...total" are counts, all others are not.
MetricValue TypedMetric(const std::string& name, double value);

// Python's round(value, digits): decimal, half to even on the exact binary value.
double PythonRound(double value, int digits);

// "{'loss': 0.5012, 'epoch': 1.45}", order as given.
std::string PythonDict(const NamedMetrics& values);

// "0:00:48.92", "1 day, 2:03:04.05": hundredths cut off, not rounded.
std::string FormatRuntime(double seconds);

// "***** train metrics *****" and one aligned line for each key, sorted; ends in a newline.
std::string MetricsBlock(const std::string& split, const NamedMetrics& values);

// `<split>_results.json` with these values, and all_results.json updated with them, in `folder`.
void WriteResults(const std::filesystem::path& folder, const std::string& split,
                  const NamedMetrics& values);

}  // namespace hagane::cli
