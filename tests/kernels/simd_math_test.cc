#include <bit>

#include "tests/kernels/level_test.h"
#include "tests/kernels/simd_math_arrays.h"

namespace hagane::kernels {
namespace {

// Every 641st float: all exponents, both signs, denormals, without infinities and NaN.
const std::vector<float>& Floats() {
  static const std::vector<float> floats = [] {
    std::vector<float> all;
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += 641) {
      all.push_back(std::bit_cast<float>(bits));
      all.push_back(-all.back());
    }
    all.resize(all.size() / 16 * 16);
    return all;
  }();
  return floats;
}
// Densely where the functions bend.
const std::vector<float>& Range() {
  static const std::vector<float> range = [] {
    std::vector<float> all;
    for (int i = -(1 << 19); i < 1 << 19; ++i) all.push_back(static_cast<float>(i) * 0x1p-15f);
    return all;
  }();
  return range;
}

class SimdMathTest : public LevelTest {
 protected:
  const SimdMath& Math() const {
    return *TableOfLevel(test_baseline::kSimdMath, test_avx2::kSimdMath, test_avx512::kSimdMath);
  }
  using Function = void (*)(int64_t, const float*, float*);
  static std::vector<float> Apply(Function f, const std::vector<float>& x) {
    std::vector<float> y(x.size());
    f(static_cast<int64_t>(x.size()), x.data(), y.data());
    return y;
  }
  template <class Exact>
  static void ExpectWithin(double error, Function f, Exact exact, const std::string& what) {
    for (const std::vector<float>* inputs : {&Floats(), &Range()}) {
      std::vector<double> want;
      want.reserve(inputs->size());
      for (const float x : *inputs) want.push_back(exact(static_cast<double>(x)));
      ExpectClose(
          Apply(f, *inputs), want, [&](size_t) { return error; }, what);
    }
  }
  // f of one value in every lane.
  float Of(Function f, float x) const {
    return Apply(f, std::vector<float>(static_cast<size_t>(Math().lanes), x))[0];
  }
};
HAGANE_TEST_EVERY_LEVEL(SimdMathTest);

TEST_P(SimdMathTest, ExpIsWithinItsRelativeError) {
  std::vector<float> x;
  for (const std::vector<float>* inputs : {&Floats(), &Range()}) {
    for (const float value : *inputs) {
      if (value >= -87.0f && value <= 88.0f) x.push_back(value);
    }
  }
  for (int i = 0; i < 1 << 20; ++i)
    x.push_back(-87.0f + static_cast<float>(i) * (175.0f / 0x1p20f));
  x.resize(x.size() / 16 * 16);
  std::vector<double> want;
  for (const float value : x) want.push_back(std::exp(static_cast<double>(value)));
  ExpectClose(
      Apply(Math().exp, x), want, [&](size_t i) { return 2e-7 * want[i]; }, "exp");
}

TEST_P(SimdMathTest, ExpIsClampedOutsideItsRange) {
  const auto exp = Math().exp;
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float x : {-88.0f, -104.0f, -1e10f, -infinity}) EXPECT_EQ(Of(exp, x), 0.0f) << x;
  for (const float x : {89.0f, 1e10f, infinity}) EXPECT_EQ(Of(exp, x), Of(exp, 88.0f)) << x;
  EXPECT_EQ(Of(exp, 0.0f), 1.0f);
}

TEST_P(SimdMathTest, ErfIsWithinItsAbsoluteError) {
  ExpectWithin(
      7e-7, Math().erf, [](double x) { return std::erf(x); }, "erf");
}
TEST_P(SimdMathTest, TanhIsWithinItsAbsoluteError) {
  ExpectWithin(
      3e-7, Math().tanh, [](double x) { return std::tanh(x); }, "tanh");
}
TEST_P(SimdMathTest, SigmoidIsWithinItsAbsoluteError) {
  ExpectWithin(
      2e-7, Math().sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, "sigmoid");
}

TEST_P(SimdMathTest, NaNStaysNaN) {
  const float nan = std::nanf("");
  for (const Function f :
       {Math().exp, Math().erf, Math().tanh, Math().sigmoid, Math().round_to_bf16}) {
    EXPECT_TRUE(std::isnan(Of(f, nan)));
  }
}

TEST_P(SimdMathTest, RoundingToBf16IsTheScalarRule) {
  std::vector<float> x = Floats();
  for (uint32_t high = 0; high < 0x8000u; ++high)
    x.push_back(std::bit_cast<float>(high << 16 | 0x8000u));
  x.resize(x.size() / 16 * 16);
  std::vector<float> want;
  for (const float value : x) want.push_back(ToFloat(ToBf16(value)));
  ExpectSameBits(Apply(Math().round_to_bf16, x), want, "bf16");
}

}  // namespace
}  // namespace hagane::kernels
