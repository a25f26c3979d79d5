#include "cli/metrics_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "io/atomic_write.h"
#include "io/json.h"

namespace hagane::cli {

namespace {

std::string PythonRepr(const MetricValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  return io::PythonFloat(std::get<double>(value));
}

std::string FormatMetric(const std::string& key, const MetricValue& value) {
  const auto* real = std::get_if<double>(&value);
  if (key == "total_flos") {
    const double flos = real != nullptr ? *real : static_cast<double>(std::get<int64_t>(value));
    return fmt::format("{}GF", static_cast<int64_t>(flos) >> 30);
  }
  if (real == nullptr) return PythonRepr(value);
  if (key.find("_runtime") != std::string::npos) return FormatRuntime(*real);
  return io::PythonFloat(PythonRound(*real, 4));
}

void Merge(const NamedMetrics& values, nlohmann::ordered_json* json) {
  for (const auto& [key, value] : values) {
    std::visit([&, &name = key](auto number) { (*json)[name] = number; }, value);
  }
}

}  // namespace

MetricValue TypedMetric(const std::string& name, double value) {
  if (name.ends_with("total")) return static_cast<int64_t>(value);
  return value;
}

double PythonRound(double value, int digits) {
  if (!std::isfinite(value)) return value;
  return std::strtod(fmt::format("{:.{}f}", value, digits).c_str(), nullptr);
}

std::string PythonDict(const NamedMetrics& values) {
  std::string line = "{";
  for (const auto& [key, value] : values) {
    if (line.size() > 1) line += ", ";
    line += fmt::format("'{}': {}", key, PythonRepr(value));
  }
  return line + "}";
}

std::string FormatRuntime(double seconds) {
  const double whole = std::floor(std::abs(seconds));
  const auto hundredths = static_cast<int64_t>((std::abs(seconds) - whole) * 100.0);
  const auto total = static_cast<int64_t>(whole);
  const int64_t days = total / 86400;
  const std::string clock = fmt::format("{}:{:02}:{:02}.{:02}", total / 3600 % 24, total / 60 % 60,
                                        total % 60, hundredths);
  return days == 0 ? clock : fmt::format("{} day{}, {}", days, days == 1 ? "" : "s", clock);
}

std::string MetricsBlock(const std::string& split, const NamedMetrics& values) {
  std::map<std::string, std::string> lines;
  size_t key_width = 0, value_width = 0;
  for (const auto& [key, value] : values) {
    const std::string& text = lines[key] = FormatMetric(key, value);
    key_width = std::max(key_width, key.size());
    value_width = std::max(value_width, text.size());
  }
  std::string block = fmt::format("***** {} metrics *****\n", split);
  for (const auto& [key, text] : lines) {
    block += fmt::format("  {:<{}} = {:>{}}\n", key, key_width, text, value_width);
  }
  return block;
}

void WriteResults(const std::filesystem::path& folder, const std::string& split,
                  const NamedMetrics& values) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  Merge(values, &json);
  io::WriteFileAtomically(folder / (split + "_results.json"), io::DumpPython(json, 4, true));

  const std::filesystem::path all_path = folder / "all_results.json";
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  if (std::filesystem::exists(all_path)) {
    io::JsonLimits limits = io::kConfigLimits;
    limits.python_constants = true;  // a diverged run's loss is NaN
    all = io::ReadJsonFile(all_path, limits);
  }
  Merge(values, &all);
  io::WriteFileAtomically(all_path, io::DumpPython(all, 4, true));
}

}  // namespace hagane::cli
