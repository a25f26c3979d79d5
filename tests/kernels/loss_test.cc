#include "kernels/loss.h"

#include "tests/kernels/level_test.h"

namespace hagane::kernels {
namespace {

// Written as the definitions stand, in double.
double CrossEntropyByDefinition(size_t rows, size_t outputs, const std::vector<double>& x,
                                const std::vector<int32_t>& labels, double eps) {
  double loss = 0;
  for (size_t row = 0; row < rows; ++row) {
    double total = 0;
    for (size_t c = 0; c < outputs; ++c) total += std::exp(x[row * outputs + c]);
    for (size_t c = 0; c < outputs; ++c) {
      const double minus_log_p = -std::log(std::exp(x[row * outputs + c]) / total);
      if (static_cast<int32_t>(c) == labels[row]) loss += (1 - eps) * minus_log_p;
      loss += eps * minus_log_p / static_cast<double>(outputs);
    }
  }
  return loss;
}
double BinaryByDefinition(const std::vector<double>& x, const std::vector<float>& targets) {
  double loss = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = 1 / (1 + std::exp(-x[i])), y = static_cast<double>(targets[i]);
    loss -= y * std::log(p) + (1 - y) * std::log(1 - p);
  }
  return loss;
}
double SquaresByDefinition(const std::vector<double>& x, const std::vector<float>& targets) {
  double loss = 0;
  for (size_t i = 0; i < x.size(); ++i) loss += std::pow(x[i] - targets[i], 2);
  return loss;
}

template <class Loss>
void ExpectSlopes(Loss loss, std::span<const float> logits, std::span<const float> dlogits,
                  double scale, const std::string& what) {
  std::vector<double> slopes = CentralDifferences(loss, Widened(logits));
  for (double& slope : slopes) slope *= scale;
  ExpectClose(
      dlogits, slopes, [&](size_t) { return 3e-7 * scale; }, what);
}

TEST(SoftmaxCrossEntropy, LossAndGradientAreTheDefinitions) {
  for (const int64_t rows : {0, 1, 3, 32}) {
    for (const int64_t outputs : {1, 2, 3, 5, 33}) {
      for (const float eps : {0.0f, 0.1f, 1.0f}) {
        const std::vector<float> logits = RandomValues(rows * outputs, 1, 4.0f);
        std::vector<int32_t> labels;
        for (int64_t row = 0; row < rows; ++row) {
          labels.push_back(static_cast<int32_t>(row * 7 % outputs));
        }
        Guarded<float> dlogits(rows * outputs, 1);
        const double loss = SoftmaxCrossEntropy(rows, outputs, logits.data(), labels.data(), eps,
                                                0.25, dlogits.data());
        const auto definition = [&](const std::vector<double>& x) {
          return CrossEntropyByDefinition(static_cast<size_t>(rows), static_cast<size_t>(outputs),
                                          x, labels, static_cast<double>(eps));
        };
        const std::string what =
            std::to_string(rows) + "x" + std::to_string(outputs) + ", eps " + std::to_string(eps);
        EXPECT_NEAR(loss, definition(Widened(logits)), 1e-10 * (1 + loss)) << what;
        ExpectSlopes(definition, logits, dlogits.span(), 0.25, what);
        EXPECT_EQ(
            SoftmaxCrossEntropy(rows, outputs, logits.data(), labels.data(), eps, 0.25, nullptr),
            loss);
      }
    }
  }
}

TEST(SoftmaxCrossEntropy, EqualLogitsCostTheLogarithmOfTheClasses) {
  const std::vector<float> logits(7, 3.0f);
  const int32_t label = 2;
  for (const float eps : {0.0f, 0.1f}) {
    EXPECT_NEAR(SoftmaxCrossEntropy(1, 7, logits.data(), &label, eps, 1.0, nullptr), std::log(7.0),
                1e-12);
  }
}

TEST(SoftmaxCrossEntropy, LargeLogitsStayFinite) {
  const std::vector<float> logits = {1e4f, -1e4f, 0.0f};
  for (const int32_t label : {0, 1, 2}) {
    std::vector<float> dlogits(3);
    const double loss = SoftmaxCrossEntropy(1, 3, logits.data(), &label, 0.0f, 1.0, dlogits.data());
    EXPECT_NEAR(loss, 1e4 - static_cast<double>(logits[static_cast<size_t>(label)]), 1e-8);
    for (int c = 0; c < 3; ++c) {
      EXPECT_NEAR(dlogits[static_cast<size_t>(c)], (c == 0) - (c == label), 1e-7);
    }
  }
}

TEST(SpanCrossEntropy, LossAndGradientAreThoseOfEachSequencesOwnSoftmax) {
  const std::vector<int32_t> cu_seqlens = {0, 1, 5, 22};
  const std::vector<int32_t> starts = {0, 3, 16}, ends = {0, 1, 0};
  const std::vector<float> logits = RandomValues(44, 1, 4.0f);
  const auto definition = [&](const std::vector<double>& x) {
    double loss = 0;
    for (size_t s = 0; s < 3; ++s) {
      const auto begin = static_cast<size_t>(cu_seqlens[s]);
      const auto end = static_cast<size_t>(cu_seqlens[s + 1]);
      for (size_t side = 0; side < 2; ++side) {
        const auto label = static_cast<size_t>(side == 0 ? starts[s] : ends[s]);
        double total = 0;
        for (size_t t = begin; t < end; ++t) total += std::exp(x[2 * t + side]);
        loss -= 0.5 * std::log(std::exp(x[2 * (begin + label) + side]) / total);
      }
    }
    return loss;
  };
  Guarded<float> dlogits(44, 1);
  const auto compute = [&](float* d) {
    return SpanCrossEntropy(3, cu_seqlens.data(), logits.data(), starts.data(), ends.data(), 0.25,
                            d);
  };
  const double loss = compute(dlogits.data());
  EXPECT_NEAR(loss, definition(Widened(logits)), 1e-10 * (1 + loss));
  ExpectSlopes(definition, logits, dlogits.span(), 0.25, "spans");
  EXPECT_EQ(compute(nullptr), loss);
}

TEST(SpanCrossEntropy, LabelsOutsideTheirSequenceAreIgnored) {
  const std::vector<int32_t> cu_seqlens = {0, 3, 6};
  const std::vector<float> logits = RandomValues(12, 1, 4.0f);
  const std::vector<int32_t> outside = {3, -1}, inside = {1, 2};
  std::vector<float> dlogits(12, 9.0f);
  const double ends_only = SpanCrossEntropy(2, cu_seqlens.data(), logits.data(), outside.data(),
                                            inside.data(), 1.0, dlogits.data());
  EXPECT_GT(ends_only, 0);
  for (size_t token = 0; token < 6; ++token) {
    EXPECT_EQ(dlogits[2 * token], 0.0f);
    EXPECT_NE(dlogits[2 * token + 1], 0.0f);
  }
  EXPECT_EQ(SpanCrossEntropy(2, cu_seqlens.data(), logits.data(), outside.data(), outside.data(),
                             1.0, nullptr),
            0.0);
}

TEST(SquaredError, LossAndGradientAreTheDefinitions) {
  for (const int64_t rows : {0, 1, 33}) {
    for (const int64_t outputs : {1, 3}) {
      const std::vector<float> logits = RandomValues(rows * outputs, 1, 2.0f),
                               targets = RandomValues(rows * outputs, 2, 5.0f);
      Guarded<float> dlogits(rows * outputs, 1);
      const double loss =
          SquaredError(rows, outputs, logits.data(), targets.data(), 0.125, dlogits.data());
      const auto definition = [&](const std::vector<double>& x) {
        return SquaresByDefinition(x, targets);
      };
      EXPECT_NEAR(loss, definition(Widened(logits)), 1e-12 * (1 + loss));
      std::vector<double> slopes = CentralDifferences(definition, Widened(logits));
      for (double& slope : slopes) slope *= 0.125;
      ExpectClose(
          dlogits.span(), slopes, [](size_t) { return 1e-6; }, std::to_string(rows));
      EXPECT_EQ(SquaredError(rows, outputs, logits.data(), targets.data(), 0.125, nullptr), loss);
    }
  }
}

TEST(BinaryCrossEntropy, LossAndGradientAreTheDefinitions) {
  for (const int64_t rows : {0, 1, 33}) {
    for (const int64_t outputs : {1, 4}) {
      const std::vector<float> logits = RandomValues(rows * outputs, 1, 6.0f);
      std::vector<float> targets = RandomValues(rows * outputs, 2, 1.0f);
      for (float& y : targets) y = y < -0.4f ? 0.0f : y > 0.4f ? 1.0f : y + 0.5f;
      Guarded<float> dlogits(rows * outputs, 1);
      const double loss =
          BinaryCrossEntropy(rows, outputs, logits.data(), targets.data(), 2.0, dlogits.data());
      const auto definition = [&](const std::vector<double>& x) {
        return BinaryByDefinition(x, targets);
      };
      EXPECT_NEAR(loss, definition(Widened(logits)), 1e-10 * (1 + loss));
      ExpectSlopes(definition, logits, dlogits.span(), 2.0, std::to_string(rows));
      EXPECT_EQ(BinaryCrossEntropy(rows, outputs, logits.data(), targets.data(), 2.0, nullptr),
                loss);
    }
  }
}

TEST(BinaryCrossEntropy, LargeLogitsStayFinite) {
  const std::vector<float> logits = {1e4f, 1e4f, -1e4f, -1e4f, 0.0f},
                           targets = {1.0f, 0.0f, 1.0f, 0.0f, 0.5f};
  std::vector<float> dlogits(5);
  EXPECT_NEAR(BinaryCrossEntropy(1, 5, logits.data(), targets.data(), 1.0, dlogits.data()),
              2e4 + std::log(2.0), 1e-8);
  const std::vector<float> slopes = {0.0f, 1.0f, -1.0f, 0.0f, 0.0f};
  ExpectClose(
      dlogits, slopes, [](size_t) { return 1e-7; }, "slopes");
}

}  // namespace
}  // namespace hagane::kernels
