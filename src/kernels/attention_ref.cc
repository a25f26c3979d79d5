#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention.h"
#include "kernels/dropout_mask.h"

namespace hagane::kernels {

namespace {

// One head of one sequence with everything in double.
struct Head {
  const AttentionShape& shape;
  const float* qkv;
  const bf16* qkv_bf16;
  int sequence, head;

  int64_t hidden() const { return int64_t{shape.heads} * shape.head_size; }
  int64_t begin() const { return shape.cu_seqlens[sequence]; }
  int64_t length() const { return shape.cu_seqlens[sequence + 1] - begin(); }
  // part 0: q, 1: k, 2: v
  int64_t At(int part, int64_t token, int64_t d) const {
    return (begin() + token) * 3 * hidden() + part * hidden() + head * shape.head_size + d;
  }
  double Value(int part, int64_t token, int64_t d) const {
    const int64_t at = At(part, token, d);
    return static_cast<double>(qkv != nullptr ? qkv[at] : ToFloat(qkv_bf16[at]));
  }
  // As an operand of a product: rounded in bf16 runs.
  double Rounded(double x) const {
    return qkv != nullptr ? x : static_cast<double>(ToFloat(ToBf16(static_cast<float>(x))));
  }
  double Score(int64_t query, int64_t key) const {
    double sum = 0;
    for (int64_t d = 0; d < shape.head_size; ++d) sum += Value(0, query, d) * Value(1, key, d);
    return sum / std::sqrt(static_cast<double>(shape.head_size));
  }
  double Keep(int64_t query, int64_t key) const {
    if (!shape.dropout.active()) return 1.0;
    const int64_t element = (head * length() + query) * length() + key;
    return static_cast<double>(
        DropoutFactor(shape.dropout, shape.samples[sequence], static_cast<uint64_t>(element)));
  }
  // log sum exp of a query's scores.
  double LogSumExp(int64_t query) const {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t j = 0; j < length(); ++j) top = std::max(top, Score(query, j));
    for (int64_t j = 0; j < length(); ++j) sum += std::exp(Score(query, j) - top);
    return top + std::log(sum);
  }
};

}  // namespace

void AttentionForwardReference(const AttentionForwardArgs& args) {
  const AttentionShape& shape = args.shape;
  const int64_t tokens = shape.cu_seqlens[shape.sequences];
  for (int s = 0; s < shape.sequences; ++s) {
    for (int h = 0; h < shape.heads; ++h) {
      const Head head{shape, args.qkv, args.qkv_bf16, s, h};
      for (int64_t i = 0; i < head.length(); ++i) {
        const double lse = head.LogSumExp(i);
        if (args.log_sum_exp != nullptr) {
          args.log_sum_exp[h * tokens + head.begin() + i] = static_cast<float>(lse);
        }
        std::vector<double> out(static_cast<size_t>(shape.head_size));
        for (int64_t j = 0; j < head.length(); ++j) {
          const double p = head.Rounded(std::exp(head.Score(i, j) - lse) * head.Keep(i, j));
          for (int64_t d = 0; d < shape.head_size; ++d) {
            out[static_cast<size_t>(d)] += p * head.Value(2, j, d);
          }
        }
        for (int64_t d = 0; d < shape.head_size; ++d) {
          const int64_t at = (head.begin() + i) * head.hidden() + h * shape.head_size + d;
          const auto value = static_cast<float>(out[static_cast<size_t>(d)]);
          if (args.out != nullptr) {
            args.out[at] = value;
          } else {
            args.out_bf16[at] = ToBf16(value);
          }
        }
      }
    }
  }
}

void AttentionBackwardReference(const AttentionBackwardArgs& args) {
  const AttentionShape& shape = args.shape;
  const int64_t tokens = shape.cu_seqlens[shape.sequences];
  const int64_t size = shape.head_size;
  for (int s = 0; s < shape.sequences; ++s) {
    for (int h = 0; h < shape.heads; ++h) {
      const Head head{shape, args.qkv, args.qkv_bf16, s, h};
      const int64_t length = head.length();
      std::vector<double> grads[3];
      for (auto& grad : grads) grad.assign(static_cast<size_t>(length * size), 0.0);
      const auto dout = [&](int64_t i, int64_t d) {
        return head.Rounded(
            static_cast<double>(args.dout[(head.begin() + i) * head.hidden() + h * size + d]));
      };
      for (int64_t i = 0; i < length; ++i) {
        const double lse = args.log_sum_exp[h * tokens + head.begin() + i];
        std::vector<double> p(static_cast<size_t>(length)), dp(p);
        double dot = 0;
        for (int64_t j = 0; j < length; ++j) {
          const auto at = static_cast<size_t>(j);
          p[at] = std::exp(head.Score(i, j) - lse);
          for (int64_t d = 0; d < size; ++d) dp[at] += dout(i, d) * head.Value(2, j, d);
          dp[at] *= head.Keep(i, j);
          dot += p[at] * dp[at];
        }
        const double scale = 1.0 / std::sqrt(static_cast<double>(size));
        for (int64_t j = 0; j < length; ++j) {
          const auto at = static_cast<size_t>(j);
          const double ds = head.Rounded(p[at] * (dp[at] - dot)) * scale;
          const double dropped = head.Rounded(p[at] * head.Keep(i, j));
          for (int64_t d = 0; d < size; ++d) {
            grads[0][static_cast<size_t>(i * size + d)] += ds * head.Value(1, j, d);
            grads[1][static_cast<size_t>(j * size + d)] += ds * head.Value(0, i, d);
            grads[2][static_cast<size_t>(j * size + d)] += dropped * dout(i, d);
          }
        }
      }
      for (int part = 0; part < 3; ++part) {
        for (int64_t i = 0; i < length; ++i) {
          for (int64_t d = 0; d < size; ++d) {
            const auto value = static_cast<float>(grads[part][static_cast<size_t>(i * size + d)]);
            if (args.dqkv != nullptr) {
              args.dqkv[head.At(part, i, d)] = value;
            } else {
              args.dqkv_bf16[head.At(part, i, d)] = ToBf16(value);
            }
          }
        }
      }
    }
  }
}

}  // namespace hagane::kernels
