#include "train/not_finite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace hagane::train {

namespace {

constexpr size_t kRowsNamed = 8;

bool AllFinite(const float* values, const nn::Parameter& parameter) {
  const float* const begin = values + parameter.offset;
  return std::all_of(begin, begin + parameter.size, [](float x) { return std::isfinite(x); });
}

}  // namespace

std::string FirstNotFinite(const nn::ParameterSet& parameters) {
  const auto& list = parameters.list();
  for (const nn::Parameter& parameter : list) {
    if (!AllFinite(parameters.values(), parameter)) return "the weight " + parameter.name;
  }
  for (auto parameter = list.rbegin(); parameter != list.rend(); ++parameter) {
    if (!AllFinite(parameters.grads(), *parameter)) return "the gradient of " + parameter->name;
  }
  return "the loss";
}

std::vector<int64_t> RowsNotFinite(std::span<const int64_t> rows,
                                   const std::function<bool(size_t)>& is_finite) {
  std::vector<int64_t> bad;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!is_finite(i)) bad.push_back(rows[i]);
  }
  std::sort(bad.begin(), bad.end());
  return bad;
}

std::string DescribeRows(const std::vector<int64_t>& bad, size_t of) {
  if (bad.empty()) return "no row of the update by itself";
  if (bad.size() == of && of > 1) return fmt::format("each of the {} rows of the update", of);
  const std::span<const int64_t> named(bad.data(), std::min(bad.size(), kRowsNamed));
  std::string text = fmt::format("row{} {}", bad.size() == 1 ? "" : "s",
                                 fmt::join(named.begin(), named.end(), ", "));
  if (named.size() < bad.size()) text += fmt::format(" and {} more", bad.size() - named.size());
  return text + " of the training data (counted from 0)";
}

}  // namespace hagane::train
