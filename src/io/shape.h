// Sizes that a file claims, checked before anything is done with them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace hagane::io {

inline constexpr size_t kMostDimensions = 32;
// Hostile headers cost memory per tensor; the largest encoders have a few thousand.
inline constexpr size_t kMostTensors = 100'000;

// Product of the sizes; nothing when one is negative, there are too many, or it overflows.
inline std::optional<int64_t> ElementCount(std::span<const int64_t> shape) {
  if (shape.size() > kMostDimensions) return std::nullopt;
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  return count;
}

}  // namespace hagane::io
