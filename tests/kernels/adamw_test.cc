#include "kernels/adamw.h"

#include "kernels/adamw_loops.h"
#include "tests/kernels/level_test.h"

namespace hagane::kernels {
namespace {

struct Problem {
  explicit Problem(int64_t size)
      : grad(RandomValues(size, 1), 1),
        param(RandomValues(size, 2), 2),
        exp_avg(RandomValues(size, 3, 0.1f), 3),
        exp_avg_sq(RandomValues(size, 4, 0.05f), 1),
        param_bf16(size, 1) {
    for (int64_t i = 0; i < size; ++i) exp_avg_sq.data()[i] += 0.06f;  // positive
    args.size = size;
    args.grad = grad.data();
    args.param = param.data();
    args.exp_avg = exp_avg.data();
    args.exp_avg_sq = exp_avg_sq.data();
    args.param_bf16 = param_bf16.data();
    args.lr = 1e-2;
    args.weight_decay = 0.1;
    args.clip = 0.7f;
    args.step = 3;
  }
  Guarded<float> grad, param, exp_avg, exp_avg_sq;
  Guarded<bf16> param_bf16;
  AdamWArgs args;
};

class AdamWTest : public LevelTest {};
HAGANE_TEST_EVERY_LEVEL(AdamWTest);

TEST_P(AdamWTest, AStepIsThatOfThePlainLoopAtEverySize) {
  std::vector<int64_t> sizes;
  for (int64_t size = 0; size <= 65; ++size) sizes.push_back(size);
  for (const int64_t size : {32767, 32768, 32769, 70001}) sizes.push_back(size);
  for (const int64_t size : sizes) {
    Problem got(size), want(size);
    AdamW(ctx_, got.args);
    AdamWReference(want.args);
    const std::string what = std::to_string(size);
    const auto tolerance = [](size_t) { return 2 * kFloatEpsilon; };  // of numbers up to 1
    ExpectClose(got.param.span(), want.param.span(), tolerance, what + " param");
    ExpectClose(
        got.exp_avg.span(), want.exp_avg.span(), [](size_t) { return kFloatEpsilon / 2; },
        what + " exp_avg");
    ExpectClose(
        got.exp_avg_sq.span(), want.exp_avg_sq.span(), [](size_t) { return kFloatEpsilon / 2; },
        what + " exp_avg_sq");
    ExpectRounded(got.param_bf16.span(), got.param.span(), what);
  }
}

TEST_P(AdamWTest, WithoutABf16CopyTheStepIsTheSame) {
  Problem with(37), without(37);
  without.args.param_bf16 = nullptr;
  AdamW(ctx_, with.args);
  AdamW(ctx_, without.args);
  ExpectSameBits(without.param.span(), with.param.span(), "param");
}

TEST_P(AdamWTest, StaysOnThePathOfDoublesOverManySteps) {
  constexpr int64_t kSize = 37;
  constexpr int kSteps = 100;
  for (const double decay : {0.0, 0.05}) {
    Problem problem(kSize);
    std::fill_n(problem.exp_avg.data(), kSize, 0.0f);
    std::fill_n(problem.exp_avg_sq.data(), kSize, 0.0f);
    std::vector<double> p = Widened(problem.param.span()), m(kSize), v(kSize);
    AdamWArgs& args = problem.args;
    args.weight_decay = decay;
    for (int step = 1; step <= kSteps; ++step) {
      const std::vector<float> grad = RandomValues(kSize, static_cast<unsigned>(step));
      std::copy(grad.begin(), grad.end(), problem.grad.data());
      args.step = step;
      AdamW(ctx_, args);
      for (size_t i = 0; i < kSize; ++i) {
        const double g = static_cast<double>(args.clip) * static_cast<double>(grad[i]);
        p[i] -= args.lr * decay * p[i];
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.999 * v[i] + 0.001 * g * g;
        const double m_hat = m[i] / (1 - std::pow(0.9, step));
        const double v_hat = v[i] / (1 - std::pow(0.999, step));
        p[i] -= args.lr * m_hat / (std::sqrt(v_hat) + args.eps);
      }
    }
    // Each step rounds numbers up to 1 a few times; the signs of that mix.
    ExpectClose(
        problem.param.span(), p, [&](size_t) { return 2 * kFloatEpsilon * std::sqrt(kSteps); },
        "decay " + std::to_string(decay));
  }
}

TEST_P(AdamWTest, TheGradientIsZeroedBehindTheUpdateWhereAsked) {
  for (const int64_t size : {1, 16, 33, 1000}) {
    Problem kept(size), zeroed(size);
    zeroed.args.zeroed = zeroed.grad.data();
    AdamW(ctx_, kept.args);
    AdamW(ctx_, zeroed.args);
    ExpectSameBits(zeroed.param.span(), kept.param.span(), "param");
    for (const float x : zeroed.grad.span()) ASSERT_EQ(x, 0.0f);
    EXPECT_NE(kept.grad[0], 0.0f);
  }
}

// A gradient of 1 moves the weight by lr a step: too little for a weight kept in bf16, which would
// stay at 1 for ever.
TEST_P(AdamWTest, SmallStepsAddUpInTheFloatWeightAndReachItsBf16Copy) {
  float grad = 1.0f, param = 1.0f, exp_avg = 0.0f, exp_avg_sq = 0.0f;
  bf16 copy = ToBf16(1.0f);
  AdamWArgs args;
  args.size = 1;
  args.grad = &grad;
  args.param = &param;
  args.exp_avg = &exp_avg;
  args.exp_avg_sq = &exp_avg_sq;
  args.param_bf16 = &copy;
  args.lr = 6e-4;
  for (args.step = 1; args.step <= 100; ++args.step) AdamW(ctx_, args);
  EXPECT_NEAR(param, 0.94, 1e-5);
  EXPECT_EQ(ToFloat(copy), 0.94140625f);
}

TEST_P(AdamWTest, DecayAloneShrinksTheWeightAndNothingElseMoves) {
  Problem problem(20);
  std::fill_n(problem.grad.data(), 20, 0.0f);
  std::fill_n(problem.exp_avg.data(), 20, 0.0f);
  std::fill_n(problem.exp_avg_sq.data(), 20, 0.0f);
  const std::vector<float> before = {problem.param.data(), problem.param.data() + 20};
  AdamW(ctx_, problem.args);
  for (size_t i = 0; i < 20; ++i) EXPECT_FLOAT_EQ(problem.param[i], before[i] * (1.0f - 1e-3f));
  problem.args.weight_decay = 0;
  const std::vector<float> decayed = {problem.param.data(), problem.param.data() + 20};
  AdamW(ctx_, problem.args);
  ExpectSameBits(problem.param.span(), decayed, "without decay");
}

TEST_P(AdamWTest, ClippingIsAFactorOnTheGradient) {
  Problem clipped(33), scaled(33);
  clipped.args.clip = 0.25f;  // a power of two: no rounding
  scaled.args.clip = 1.0f;
  for (int64_t i = 0; i < 33; ++i) scaled.grad.data()[i] *= 0.25f;
  AdamW(ctx_, clipped.args);
  AdamW(ctx_, scaled.args);
  ExpectSameBits(clipped.param.span(), scaled.param.span(), "param");
  ExpectSameBits(clipped.exp_avg_sq.span(), scaled.exp_avg_sq.span(), "exp_avg_sq");
}

TEST_P(AdamWTest, UsesTheTableOfTheLevel) {
  EXPECT_EQ(&AdamWLoopsFor(ctx_.isa),
            TableOfLevel(baseline::kAdamWLoops, avx2::kAdamWLoops, avx512::kAdamWLoops));
}

TEST_P(AdamWTest, BitsDoNotDependOnThreads) {
  Problem one(100001);
  AdamW(WithThreads(1), one.args);
  for (const int threads : {2, 3, 4}) {
    Problem many(100001);
    AdamW(WithThreads(threads), many.args);
    ExpectSameBits(many.param.span(), one.param.span(), "param");
    ExpectSameBits(many.exp_avg.span(), one.exp_avg.span(), "exp_avg");
    ExpectSameBits(many.exp_avg_sq.span(), one.exp_avg_sq.span(), "exp_avg_sq");
    ExpectSameBits(many.param_bf16.span(), one.param_bf16.span(), "bf16");
  }
}

TEST_P(AdamWTest, SumsOfSquaresAreThoseOfLongDoublesOnAnyThreads) {
  for (const int64_t size : {0, 1, 7, 15, 16, 17, 33, 32768, 32769, 100003}) {
    Guarded<float> x(RandomValues(size, 5, 100.0f), 1);
    long double want = 0;
    for (const float value : x.span()) {
      want += static_cast<long double>(value) * static_cast<long double>(value);
    }
    const double one = SumOfSquares(WithThreads(1), size, x.data());
    EXPECT_NEAR(one, static_cast<double>(want), 1e-13 * static_cast<double>(want)) << size;
    for (const int threads : {2, 3, 4}) {
      EXPECT_EQ(SumOfSquares(WithThreads(threads), size, x.data()), one) << size;
    }
  }
}

// The squares of these overflow or vanish in float.
TEST_P(AdamWTest, SumsOfSquaresNeitherOverflowNorVanish) {
  const std::vector<float> large(20, 1e30f), small(20, 1e-30f);
  EXPECT_NEAR(SumOfSquares(ctx_, 20, large.data()), 2e61, 1e55);
  EXPECT_NEAR(SumOfSquares(ctx_, 20, small.data()), 2e-59, 1e-65);
}

}  // namespace
}  // namespace hagane::kernels
