#include "cli/flag_values.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.h"
#include "io/json.h"

namespace hagane::cli {

void OutOfRange(std::string_view flag, const std::string& value, const char* expected) {
  throw UsageError(fmt::format("--{} is {}, it must be {}", flag, value, expected));
}

int64_t IntFrom(const ParsedFlags& flags, std::string_view name, int64_t least) {
  const int64_t value = flags.Int(name);
  if (value < least) OutOfRange(name, std::to_string(value), least == 1 ? "above 0" : "0 or above");
  return value;
}

int64_t CountFrom(const ParsedFlags& flags, std::string_view name) {
  const int64_t value = IntFrom(flags, name, 1);
  if (value > INT32_MAX) OutOfRange(name, std::to_string(value), "at most 2147483647");
  return value;
}

std::optional<int64_t> RowLimit(const ParsedFlags& flags, std::string_view name) {
  const auto limit = flags.OptionalInt(name);
  if (limit && *limit < 1) OutOfRange(name, std::to_string(*limit), "above 0");
  return limit;
}

double FloatIn(const ParsedFlags& flags, std::string_view name, bool (*good)(double),
               const char* expected) {
  const double value = flags.Float(name);
  if (!good(value)) OutOfRange(name, io::PythonFloat(value), expected);
  return value;
}

double FloatFromZero(const ParsedFlags& flags, std::string_view name) {
  return FloatIn(
      flags, name, [](double x) { return x >= 0; }, "0 or above");
}

double FloatBelowOne(const ParsedFlags& flags, std::string_view name) {
  return FloatIn(
      flags, name, [](double x) { return x >= 0 && x < 1; }, "0 or above and below 1");
}

std::filesystem::path ExpandHome(const std::string& path) {
  const char* const home = std::getenv("HOME");
  if (home == nullptr || (path != "~" && !path.starts_with("~/"))) return path;
  return home + path.substr(1);
}

std::optional<std::filesystem::path> OptionalPath(const ParsedFlags& flags, std::string_view name) {
  const auto value = flags.OptionalString(name);
  if (!value) return std::nullopt;
  return ExpandHome(*value);
}

}  // namespace hagane::cli
