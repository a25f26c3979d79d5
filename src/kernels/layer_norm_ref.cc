#include <cmath>
#include <vector>

#include "kernels/dropout_mask.h"
#include "kernels/layer_norm.h"

namespace hagane::kernels {

namespace {

float FactorAt(const DropoutSpec& dropout, RowKeys keys, int64_t row, int64_t width,
               int64_t column) {
  if (!dropout.active()) return 1.0f;
  return DropoutFactor(dropout, keys.sample[row],
                       static_cast<uint64_t>(keys.token[row]) * static_cast<uint64_t>(width) +
                           static_cast<uint64_t>(column));
}

}  // namespace

void LayerNormForwardReference(const LayerNormForwardArgs& args) {
  const int64_t width = args.width;
  for (int64_t row = 0; row < args.rows; ++row) {
    std::vector<double> z(static_cast<size_t>(width));
    double mean = 0;
    for (int64_t c = 0; c < width; ++c) {
      const int64_t at = row * width + c;
      double value = args.h[at];
      if (args.bias != nullptr) value += args.bias[c];
      value *= FactorAt(args.dropout, args.keys, row, width, c);
      if (args.residual != nullptr) value += args.residual[at];
      z[static_cast<size_t>(c)] = value;
      mean += value / static_cast<double>(width);
    }
    double variance = 0;
    for (double value : z) variance += (value - mean) * (value - mean) / static_cast<double>(width);
    const double rstd = 1.0 / std::sqrt(variance + static_cast<double>(args.eps));
    for (int64_t c = 0; c < width; ++c) {
      const int64_t at = row * width + c;
      const double normal = (z[static_cast<size_t>(c)] - mean) * rstd;
      args.z[at] = static_cast<float>(z[static_cast<size_t>(c)]);
      args.y[at] = static_cast<float>(normal * args.gamma[c] + args.beta[c]);
      if (args.y_bf16 != nullptr) args.y_bf16[at] = ToBf16(args.y[at]);
    }
    args.mean[row] = static_cast<float>(mean);
    args.rstd[row] = static_cast<float>(rstd);
  }
}

void LayerNormBackwardReference(const LayerNormBackwardArgs& args) {
  const int64_t width = args.width;
  std::vector<double> dgamma(static_cast<size_t>(width)), dbeta(dgamma), dbias(dgamma);
  std::vector<double> g(static_cast<size_t>(width)), x(g);
  for (int64_t row = 0; row < args.rows; ++row) {
    double mean_g = 0, mean_gx = 0;
    for (int64_t c = 0; c < width; ++c) {
      const auto i = static_cast<size_t>(c);
      const int64_t at = row * width + c;
      double dy = args.dy[at];
      if (args.dy2 != nullptr) dy += args.dy2[at];
      x[i] = (static_cast<double>(args.z[at]) - args.mean[row]) * args.rstd[row];
      g[i] = dy * args.gamma[c];
      mean_g += g[i] / static_cast<double>(width);
      mean_gx += g[i] * x[i] / static_cast<double>(width);
      dgamma[i] += dy * x[i];
      dbeta[i] += dy;
    }
    for (int64_t c = 0; c < width; ++c) {
      const auto i = static_cast<size_t>(c);
      const int64_t at = row * width + c;
      const double dz = (g[i] - mean_g - x[i] * mean_gx) * args.rstd[row];
      const double dh = dz * FactorAt(args.dropout, args.keys, row, width, c);
      args.dz[at] = static_cast<float>(dz);
      if (args.dh != nullptr) args.dh[at] = static_cast<float>(dh);
      if (args.dh_bf16 != nullptr) args.dh_bf16[at] = ToBf16(static_cast<float>(dh));
      dbias[i] += dh;
    }
  }
  for (int64_t c = 0; c < width; ++c) {
    const auto i = static_cast<size_t>(c);
    args.dgamma[c] += static_cast<float>(dgamma[i]);
    args.dbeta[c] += static_cast<float>(dbeta[i]);
    if (args.dbias != nullptr) args.dbias[c] += static_cast<float>(dbias[i]);
  }
}

}  // namespace hagane::kernels
