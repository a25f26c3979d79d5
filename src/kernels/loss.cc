#include "kernels/loss.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hagane::kernels {

namespace {

// -log softmax(x)[label] over `count` values that lie `stride` apart; dx as in SpanCrossEntropy.
double CrossEntropyOfColumn(int64_t count, int64_t stride, const float* x, int32_t label,
                            double scale, float* dx) {
  if (label < 0 || label >= count) {
    for (int64_t i = 0; dx != nullptr && i < count; ++i) dx[i * stride] = 0.0f;
    return 0.0;
  }
  double top = static_cast<double>(x[0]);
  for (int64_t i = 1; i < count; ++i) top = std::max(top, static_cast<double>(x[i * stride]));
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(x[i * stride]) - top);
  const double log_sum_exp = top + std::log(sum);
  for (int64_t i = 0; dx != nullptr && i < count; ++i) {
    const double p = std::exp(static_cast<double>(x[i * stride]) - log_sum_exp);
    dx[i * stride] = static_cast<float>(scale * (p - (i == label ? 1.0 : 0.0)));
  }
  return log_sum_exp - static_cast<double>(x[label * stride]);
}

}  // namespace

double SoftmaxCrossEntropy(int64_t rows, int64_t outputs, const float* logits,
                           const int32_t* labels, float eps, double scale, float* dlogits) {
  const double smooth = static_cast<double>(eps) / static_cast<double>(outputs);
  double loss = 0;
  for (int64_t row = 0; row < rows; ++row) {
    HAGANE_CHECK(labels[row] >= 0 && labels[row] < outputs, "label outside the outputs");
    const float* const x = logits + row * outputs;
    const double top = static_cast<double>(*std::max_element(x, x + outputs));
    double sum = 0;
    for (int64_t c = 0; c < outputs; ++c) sum += std::exp(static_cast<double>(x[c]) - top);
    const double log_sum_exp = top + std::log(sum);
    for (int64_t c = 0; c < outputs; ++c) {
      const double log_p = static_cast<double>(x[c]) - log_sum_exp;
      const double target = (c == labels[row] ? 1.0 - static_cast<double>(eps) : 0.0) + smooth;
      if (target != 0) loss -= target * log_p;
      if (dlogits != nullptr) {
        dlogits[row * outputs + c] = static_cast<float>(scale * (std::exp(log_p) - target));
      }
    }
  }
  return loss;
}

double SquaredError(int64_t rows, int64_t outputs, const float* logits, const float* targets,
                    double scale, float* dlogits) {
  double loss = 0;
  for (int64_t i = 0; i < rows * outputs; ++i) {
    const double error = static_cast<double>(logits[i]) - static_cast<double>(targets[i]);
    loss += error * error;
    if (dlogits != nullptr) dlogits[i] = static_cast<float>(scale * 2.0 * error);
  }
  return loss;
}

double BinaryCrossEntropy(int64_t rows, int64_t outputs, const float* logits, const float* targets,
                          double scale, float* dlogits) {
  double loss = 0;
  for (int64_t i = 0; i < rows * outputs; ++i) {
    const auto x = static_cast<double>(logits[i]);
    const auto y = static_cast<double>(targets[i]);
    // max(x, 0) - x y + log(1 + exp(-|x|)): no overflow on either side.
    loss += std::max(x, 0.0) - x * y + std::log1p(std::exp(-std::abs(x)));
    if (dlogits != nullptr) {
      dlogits[i] = static_cast<float>(scale * (1.0 / (1.0 + std::exp(-x)) - y));
    }
  }
  return loss;
}

double SpanCrossEntropy(int64_t sequences, const int32_t* cu_seqlens, const float* logits,
                        const int32_t* starts, const int32_t* ends, double scale, float* dlogits) {
  double loss = 0;
  for (int64_t s = 0; s < sequences; ++s) {
    const int64_t begin = cu_seqlens[s], count = cu_seqlens[s + 1] - begin;
    for (const int side : {0, 1}) {
      const int64_t at = 2 * begin + side;
      loss += 0.5 * CrossEntropyOfColumn(count, 2, logits + at, side == 0 ? starts[s] : ends[s],
                                         0.5 * scale, dlogits == nullptr ? nullptr : dlogits + at);
    }
  }
  return loss;
}

}  // namespace hagane::kernels
