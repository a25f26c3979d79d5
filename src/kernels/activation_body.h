#pragma once

#include "kernels/activation_kinds.h"
#include "kernels/activation_loops.h"
#include "kernels/simd_math.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

constexpr float kSqrtHalf = 0.70710678118654752f;
constexpr float kInverseSqrt2Pi = 0.39894228040143268f;
constexpr float kSqrt2OverPi = 0.79788456080286536f;
constexpr float kGeluCubic = 0.044715f;

struct Gelu {
  static HAGANE_INLINE Vec Value(Vec z) {
    const Vec e = Exp(-0.5f * z * z);
    return 0.5f * z * (1.0f + Erf(z * kSqrtHalf, e));
  }
  static HAGANE_INLINE Vec Slope(Vec z) {
    const Vec e = Exp(-0.5f * z * z);
    return 0.5f * (1.0f + Erf(z * kSqrtHalf, e)) + z * e * kInverseSqrt2Pi;
  }
};
struct GeluTanh {
  static HAGANE_INLINE Vec Inner(Vec z) { return kSqrt2OverPi * (z + kGeluCubic * z * z * z); }
  static HAGANE_INLINE Vec Value(Vec z) { return 0.5f * z * (1.0f + Tanh(Inner(z))); }
  static HAGANE_INLINE Vec Slope(Vec z) {
    const Vec t = Tanh(Inner(z));
    const Vec inner_slope = kSqrt2OverPi * (1.0f + 3.0f * kGeluCubic * z * z);
    return 0.5f * (1.0f + t) + 0.5f * z * (1.0f - t * t) * inner_slope;
  }
};
struct Relu {
  static HAGANE_INLINE Vec Value(Vec z) { return z < 0.0f ? Vec{} : z; }
  static HAGANE_INLINE Vec Slope(Vec z) { return z > 0.0f ? Set(1.0f) : Vec{}; }
};
struct Silu {
  static HAGANE_INLINE Vec Value(Vec z) { return z * Sigmoid(z); }
  static HAGANE_INLINE Vec Slope(Vec z) {
    const Vec s = Sigmoid(z);
    return s + z * s * (1.0f - s);
  }
};
struct TanhOf {
  static HAGANE_INLINE Vec Value(Vec z) { return Tanh(z); }
  static HAGANE_INLINE Vec Slope(Vec z) {
    const Vec t = Tanh(z);
    return 1.0f - t * t;
  }
};

template <class Function>
void ForwardRow(const ActivationForwardRow& row) {
  HAGANE_FOR_ROW(i, n, row.width) {
    Vec z = LoadN(row.h + i, n);
    if (row.bias != nullptr) z += LoadN(row.bias + i, n);
    StoreN(z, row.z + i, n);
    const Vec a = Function::Value(z);
    if (row.a != nullptr) StoreN(a, row.a + i, n);
    if (row.a_bf16 != nullptr) StoreBf16N(a, row.a_bf16 + i, n);
  }
}

template <class Function>
void BackwardRow(const ActivationBackwardRow& row) {
  HAGANE_FOR_ROW(i, n, row.width) {
    const Vec dz = LoadN(row.da + i, n) * Function::Slope(LoadN(row.z + i, n));
    if (row.dz != nullptr) StoreN(dz, row.dz + i, n);
    if (row.dz_bf16 != nullptr) StoreBf16N(dz, row.dz_bf16 + i, n);
    if (row.dbias != nullptr) StoreN(LoadN(row.dbias + i, n) + dz, row.dbias + i, n);
  }
}

void Forward(const ActivationForwardRow& row) {
  switch (row.activation) {
    case Activation::kGelu:
      return ForwardRow<Gelu>(row);
    case Activation::kGeluTanh:
      return ForwardRow<GeluTanh>(row);
    case Activation::kRelu:
      return ForwardRow<Relu>(row);
    case Activation::kSilu:
      return ForwardRow<Silu>(row);
    case Activation::kTanh:
      return ForwardRow<TanhOf>(row);
  }
}

void Backward(const ActivationBackwardRow& row) {
  switch (row.activation) {
    case Activation::kGelu:
      return BackwardRow<Gelu>(row);
    case Activation::kGeluTanh:
      return BackwardRow<GeluTanh>(row);
    case Activation::kRelu:
      return BackwardRow<Relu>(row);
    case Activation::kSilu:
      return BackwardRow<Silu>(row);
    case Activation::kTanh:
      return BackwardRow<TanhOf>(row);
  }
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
