// The activation functions on vectors: value, slope, and both at once.
#pragma once

#include "kernels/activation_kinds.h"
#include "kernels/simd_math.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

constexpr float kSqrtHalf = 0.70710678118654752f;
constexpr float kInverseSqrt2Pi = 0.39894228040143268f;
constexpr float kSqrt2OverPi = 0.79788456080286536f;
constexpr float kGeluCubic = 0.044715f;

struct Gelu {
  static HAGANE_INLINE void Both(Vec z, Vec* value, Vec* slope) {
    const Vec e = Exp(-0.5f * z * z);
    const Vec below = 0.5f * (1.0f + Erf(z * kSqrtHalf, e));
    *value = z * below;
    *slope = below + z * e * kInverseSqrt2Pi;
  }
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

// GELU's two share their dear part.
template <class Function>
HAGANE_INLINE void ValueAndSlope(Vec z, Vec* value, Vec* slope) {
  *value = Function::Value(z);
  *slope = Function::Slope(z);
}
template <>
HAGANE_INLINE void ValueAndSlope<Gelu>(Vec z, Vec* value, Vec* slope) {
  Gelu::Both(z, value, slope);
}

// Calls body.operator()<Function>() with the function of `activation`.
template <class Body>
HAGANE_INLINE void WithFunction(Activation activation, Body body) {
  switch (activation) {
    case Activation::kGelu:
      return body.template operator()<Gelu>();
    case Activation::kGeluTanh:
      return body.template operator()<GeluTanh>();
    case Activation::kRelu:
      return body.template operator()<Relu>();
    case Activation::kSilu:
      return body.template operator()<Silu>();
    case Activation::kTanh:
      return body.template operator()<TanhOf>();
  }
}

}  // namespace
}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
