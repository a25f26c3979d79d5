#pragma once

#include "kernels/layer_norm_loops.h"
#include "kernels/simd.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

void LayerNormForwardOne(const LayerNormForwardRow& row) {
  const int64_t width = row.width;
  const float per_column = 1.0f / static_cast<float>(width);
  Vec sum = {};
  HAGANE_FOR_ROW(i, n, width) {
    Vec z = LoadN(row.h + i, n);
    if (row.bias != nullptr) z += LoadN(row.bias + i, n);
    if (row.mask != nullptr) z *= LoadN(row.mask + i, n);
    if (row.residual != nullptr) z += LoadN(row.residual + i, n);
    StoreN(z, row.z + i, n);
    sum += z;
  }
  const float mean = SumLanes(sum) * per_column;
  Vec squares = {};
  HAGANE_FOR_ROW(i, n, width) {
    Vec d = LoadN(row.z + i, n) - mean;
    if (n < kLanes) d = FirstLanes(n) ? d : Vec{};
    squares += d * d;
  }
  const float rstd = 1.0f / __builtin_sqrtf(SumLanes(squares) * per_column + row.eps);
  HAGANE_FOR_ROW(i, n, width) {
    const Vec normal = (LoadN(row.z + i, n) - mean) * rstd;
    const Vec y = normal * LoadN(row.gamma + i, n) + LoadN(row.beta + i, n);
    StoreN(y, row.y + i, n);
    if (row.y_bf16 != nullptr) StoreBf16N(y, row.y_bf16 + i, n);
  }
  *row.mean = mean;
  *row.rstd = rstd;
}

void LayerNormBackwardOne(const LayerNormBackwardRow& row) {
  const int64_t width = row.width;
  const float per_column = 1.0f / static_cast<float>(width);
  // With g = dy * gamma and x = (z - mean) rstd:  dz = rstd (g - mean(g) - x mean(g x))
  Vec sum_g = {}, sum_gx = {};
  HAGANE_FOR_ROW(i, n, width) {
    Vec dy = LoadN(row.dy + i, n);
    if (row.dy2 != nullptr) dy += LoadN(row.dy2 + i, n);
    const Vec x = (LoadN(row.z + i, n) - row.mean) * row.rstd;
    const Vec g = dy * LoadN(row.gamma + i, n);  // 0 in the lanes past the row
    sum_g += g;
    sum_gx += g * x;
    StoreN(LoadN(row.dgamma + i, n) + dy * x, row.dgamma + i, n);
    StoreN(LoadN(row.dbeta + i, n) + dy, row.dbeta + i, n);
  }
  const float mean_g = SumLanes(sum_g) * per_column;
  const float mean_gx = SumLanes(sum_gx) * per_column;
  HAGANE_FOR_ROW(i, n, width) {
    Vec dy = LoadN(row.dy + i, n);
    if (row.dy2 != nullptr) dy += LoadN(row.dy2 + i, n);
    const Vec x = (LoadN(row.z + i, n) - row.mean) * row.rstd;
    const Vec g = dy * LoadN(row.gamma + i, n);
    const Vec dz = (g - mean_g - x * mean_gx) * row.rstd;
    const Vec dh = row.mask != nullptr ? dz * LoadN(row.mask + i, n) : dz;
    StoreN(dz, row.dz + i, n);
    if (row.dh != nullptr) StoreN(dh, row.dh + i, n);
    if (row.dh_bf16 != nullptr) StoreBf16N(dh, row.dh_bf16 + i, n);
    if (row.dbias != nullptr) StoreN(LoadN(row.dbias + i, n) + dh, row.dbias + i, n);
  }
}

}  // namespace

const LayerNormLoops kLayerNormLoops = {LayerNormForwardOne, LayerNormBackwardOne};

}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
