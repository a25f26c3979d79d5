#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/activation.h"

namespace hagane::kernels {

namespace {

double Value(Activation activation, double z) {
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * z * (1.0 + std::erf(z / std::numbers::sqrt2));
    case Activation::kGeluTanh:
      return 0.5 * z *
             (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (z + 0.044715 * z * z * z)));
    case Activation::kRelu:
      return z < 0 ? 0.0 : z;
    case Activation::kSilu:
      return z / (1.0 + std::exp(-z));
    case Activation::kTanh:
      return std::tanh(z);
  }
  return 0;
}

double Slope(Activation activation, double z) {
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * (1.0 + std::erf(z / std::numbers::sqrt2)) +
             z * std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
    case Activation::kGeluTanh: {
      const double c = std::sqrt(2.0 / std::numbers::pi);
      const double t = std::tanh(c * (z + 0.044715 * z * z * z));
      return 0.5 * (1.0 + t) + 0.5 * z * (1.0 - t * t) * c * (1.0 + 3.0 * 0.044715 * z * z);
    }
    case Activation::kRelu:
      return z > 0 ? 1.0 : 0.0;
    case Activation::kSilu: {
      const double s = 1.0 / (1.0 + std::exp(-z));
      return s + z * s * (1.0 - s);
    }
    case Activation::kTanh: {
      const double t = std::tanh(z);
      return 1.0 - t * t;
    }
  }
  return 0;
}

}  // namespace

void ActivationForwardReference(const ActivationForwardArgs& args) {
  for (int64_t at = 0; at < args.rows * args.width; ++at) {
    float z = args.h[at];
    if (args.bias != nullptr) z += args.bias[at % args.width];
    const auto a = static_cast<float>(Value(args.activation, static_cast<double>(z)));
    if (args.z != nullptr) args.z[at] = z;
    if (args.slope_bf16 != nullptr) {
      args.slope_bf16[at] =
          ToBf16(static_cast<float>(Slope(args.activation, static_cast<double>(z))));
    }
    if (args.a != nullptr) args.a[at] = a;
    if (args.a_bf16 != nullptr) args.a_bf16[at] = ToBf16(a);
  }
}

void ActivationBackwardReference(const ActivationBackwardArgs& args) {
  std::vector<double> dbias(static_cast<size_t>(args.width));
  for (int64_t at = 0; at < args.rows * args.width; ++at) {
    const double slope = args.slope_bf16 != nullptr
                             ? static_cast<double>(ToFloat(args.slope_bf16[at]))
                             : Slope(args.activation, static_cast<double>(args.z[at]));
    const double dz = static_cast<double>(args.da[at]) * slope;
    if (args.dz != nullptr) args.dz[at] = static_cast<float>(dz);
    if (args.dz_bf16 != nullptr) args.dz_bf16[at] = ToBf16(static_cast<float>(dz));
    dbias[static_cast<size_t>(at % args.width)] += dz;
  }
  if (args.dbias == nullptr) return;
  for (int64_t c = 0; c < args.width; ++c) {
    args.dbias[c] += static_cast<float>(dbias[static_cast<size_t>(c)]);
  }
}

}  // namespace hagane::kernels
