#pragma once

#include "kernels/activation_functions.h"
#include "kernels/activation_loops.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

template <class Function>
void ForwardRow(const ActivationForwardRow& row) {
  HAGANE_FOR_ROW(i, n, row.width) {
    Vec z = LoadN(row.h + i, n);
    if (row.bias != nullptr) z += LoadN(row.bias + i, n);
    if (row.z != nullptr) StoreN(z, row.z + i, n);
    Vec a, slope;
    if (row.slope != nullptr) {
      ValueAndSlope<Function>(z, &a, &slope);
      StoreBf16N(slope, row.slope + i, n);
    } else {
      a = Function::Value(z);
    }
    if (row.a != nullptr) StoreN(a, row.a + i, n);
    if (row.a_bf16 != nullptr) StoreBf16N(a, row.a_bf16 + i, n);
  }
}

HAGANE_INLINE void StoreGradient(const ActivationBackwardRow& row, int64_t i, int64_t n, Vec dz) {
  if (row.dz != nullptr) StoreN(dz, row.dz + i, n);
  if (row.dz_bf16 != nullptr) StoreBf16N(dz, row.dz_bf16 + i, n);
  if (row.dbias != nullptr) StoreN(LoadN(row.dbias + i, n) + dz, row.dbias + i, n);
}

template <class Function>
void BackwardRow(const ActivationBackwardRow& row) {
  HAGANE_FOR_ROW(i, n, row.width) {
    StoreGradient(row, i, n, LoadN(row.da + i, n) * Function::Slope(LoadN(row.z + i, n)));
  }
}

void BackwardRowBySlope(const ActivationBackwardRow& row) {
  HAGANE_FOR_ROW(i, n, row.width) {
    StoreGradient(row, i, n, LoadN(row.da + i, n) * LoadBf16N(row.slope + i, n));
  }
}

void Forward(const ActivationForwardRow& row) {
  WithFunction(row.activation, [&]<class Function>() { ForwardRow<Function>(row); });
}

void Backward(const ActivationBackwardRow& row) {
  if (row.slope != nullptr) return BackwardRowBySlope(row);
  WithFunction(row.activation, [&]<class Function>() { BackwardRow<Function>(row); });
}

void AddRow(int64_t width, const float* x, float* sums) {
  HAGANE_FOR_ROW(i, n, width) StoreN(LoadN(sums + i, n) + LoadN(x + i, n), sums + i, n);
}
void AddRowBf16(int64_t width, const uint16_t* x, float* sums) {
  HAGANE_FOR_ROW(i, n, width) StoreN(LoadN(sums + i, n) + LoadBf16N(x + i, n), sums + i, n);
}

}  // namespace

const ActivationLoops kActivationLoops = {Forward, Backward, AddRow, AddRowBf16};

}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
