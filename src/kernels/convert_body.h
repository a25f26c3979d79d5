#pragma once

#include "kernels/convert_loops.h"
#include "kernels/simd.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

// These do so little per element that the test for the last vector is kept out of the loops.

void ToBf16Range(int64_t size, const float* x, uint16_t* y) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) StoreBf16(Load(x + i), y + i);
  StoreFirstBf16(LoadFirst(x + i, size - i), y + i, size - i);
}

void ToFloat32Range(int64_t size, const uint16_t* x, float* y) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) Store(LoadBf16(x + i), y + i);
  StoreFirst(LoadFirstBf16(x + i, size - i), y + i, size - i);
}

void FillRange(int64_t size, float value, float* y) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) Store(Set(value), y + i);
  StoreFirst(Set(value), y + i, size - i);
}

void AddRange(int64_t size, const float* x, float* y) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) Store(Load(y + i) + Load(x + i), y + i);
  StoreFirst(LoadFirst(y + i, size - i) + LoadFirst(x + i, size - i), y + i, size - i);
}

}  // namespace

const ConvertLoops kConvertLoops = {ToBf16Range, ToFloat32Range, FillRange, AddRange};

}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
