#include "kernels/activation.h"

#include <numbers>

#include "base/error.h"
#include "kernels/activation_loops.h"
#include "tests/kernels/level_test.h"

namespace hagane::kernels {
namespace {

constexpr Activation kAll[] = {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu,
                               Activation::kSilu, Activation::kTanh};

const char* Name(Activation activation) {
  constexpr const char* kNames[] = {"gelu", "gelu_tanh", "relu", "silu", "tanh"};
  return kNames[static_cast<int>(activation)];
}

// The definitions, apart from the plain loops.
double Value(Activation activation, double z) {
  switch (activation) {
    case Activation::kGelu:
      return z / 2 * std::erfc(-z / std::numbers::sqrt2);
    case Activation::kGeluTanh:
      return z / 2 *
             (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (z + 0.044715 * std::pow(z, 3))));
    case Activation::kRelu:
      return std::max(z, 0.0);
    case Activation::kSilu:
      return z / (1 + std::exp(-z));
    case Activation::kTanh:
      return std::tanh(z);
  }
  return 0;
}
double Slope(Activation activation, double z) {
  return CentralDifferences([&](const std::vector<double>& x) { return Value(activation, x[0]); },
                            {z})[0];
}

struct Case {
  int64_t rows, width;
  Activation activation = Activation::kGelu;
  bool bias = true, a = true, bf16_out = true, dz = true, dbias = true;

  std::string Label() const {
    return std::string(Name(activation)) + " " + std::to_string(rows) + "x" +
           std::to_string(width) + (bias ? " bias" : "") + (a ? " a" : "") +
           (bf16_out ? " bf16" : "") + (dz ? " dz" : "") + (dbias ? " dbias" : "");
  }
};

struct Problem {
  explicit Problem(const Case& c)
      : h(RandomValues(c.rows * c.width, 1, 4.0f), 1),
        bias(RandomValues(c.width, 2), 2),
        da(RandomValues(c.rows * c.width, 3), 3),
        z(c.rows * c.width, 2),
        a(c.rows * c.width, 3),
        dz(c.rows * c.width, 1),
        dbias(RandomValues(c.width, 4), 1),
        a_bf16(c.rows * c.width, 1),
        dz_bf16(c.rows * c.width, 3) {
    forward.rows = backward.rows = c.rows;
    forward.width = backward.width = c.width;
    forward.activation = backward.activation = c.activation;
    forward.h = h.data();
    if (c.bias) forward.bias = bias.data();
    forward.z = z.data();
    if (c.a) forward.a = a.data();
    if (c.bf16_out) forward.a_bf16 = a_bf16.data();
    backward.da = da.data();
    backward.z = z.data();
    if (c.dz) backward.dz = dz.data();
    if (c.bf16_out) backward.dz_bf16 = dz_bf16.data();
    if (c.dbias) backward.dbias = dbias.data();
  }
  Guarded<float> h, bias, da, z, a, dz, dbias;
  Guarded<bf16> a_bf16, dz_bf16;
  ActivationForwardArgs forward;
  ActivationBackwardArgs backward;
};

class ActivationTest : public LevelTest {
 protected:
  void ExpectLikeReference(const Case& c) const {
    Problem got(c), want(c);
    ActivationForward(ctx_, got.forward);
    ActivationForwardReference(want.forward);
    ActivationBackward(ctx_, got.backward);
    ActivationBackwardReference(want.backward);
    const std::string label = c.Label();
    const auto tolerance = [&](size_t i) { return 1e-6 * (1 + std::abs(want.z[i])); };
    ExpectSameBits(got.z.span(), want.z.span(), label + " z");
    ExpectClose(got.a.span(), want.a.span(), tolerance, label + " a");
    ExpectClose(got.dz.span(), want.dz.span(), tolerance, label + " dz");
    // Of each row at most 1e-6 (1 + |z|), |z| <= 5, and mostly far less.
    ExpectClose(
        got.dbias.span(), want.dbias.span(),
        [&](size_t) { return 2e-6 * static_cast<double>(1 + c.rows); }, label + " dbias");
    if (c.a && c.bf16_out) ExpectRounded(got.a_bf16.span(), got.a.span(), label + " a");
    if (c.dz && c.bf16_out) ExpectRounded(got.dz_bf16.span(), got.dz.span(), label + " dz");
  }

  // act(z) and act'(z) for every z.
  std::vector<float> Values(Activation activation, const std::vector<float>& z) const {
    std::vector<float> copy(z.size()), a(z.size());
    ActivationForwardArgs args;
    args.rows = 1;
    args.width = static_cast<int64_t>(z.size());
    args.activation = activation;
    args.h = z.data();
    args.z = copy.data();
    args.a = a.data();
    ActivationForward(ctx_, args);
    return a;
  }
  std::vector<float> Slopes(Activation activation, const std::vector<float>& z) const {
    std::vector<float> ones(z.size(), 1.0f), dz(z.size());
    ActivationBackwardArgs args;
    args.rows = 1;
    args.width = static_cast<int64_t>(z.size());
    args.activation = activation;
    args.da = ones.data();
    args.z = z.data();
    args.dz = dz.data();
    ActivationBackward(ctx_, args);
    return dz;
  }
};
HAGANE_TEST_EVERY_LEVEL(ActivationTest);

TEST_P(ActivationTest, ValuesAndSlopesAreWithinAMillionthOverADenseRange) {
  std::vector<float> z;
  for (int i = -60000; i <= 60000; ++i) z.push_back(static_cast<float>(i) * 2e-4f);
  const auto tolerance = [&](size_t i) { return 1e-6 * std::max(1.0, std::abs(double{z[i]})); };
  for (const Activation activation : kAll) {
    std::vector<double> values, slopes;
    for (const float x : z) {
      values.push_back(Value(activation, static_cast<double>(x)));
      const bool corner = activation == Activation::kRelu && x == 0.0f;
      slopes.push_back(corner ? 0.0 : Slope(activation, static_cast<double>(x)));
    }
    ExpectClose(Values(activation, z), values, tolerance, Name(activation));
    ExpectClose(Slopes(activation, z), slopes, tolerance, std::string(Name(activation)) + "'");
  }
}

TEST_P(ActivationTest, FarOutItIsTheFunctionsLimitAndNothingFiniteBecomesNaN) {
  const std::vector<float> z = {-1e4f, -300.0f, -100.0f, -88.5f, -87.5f, -40.0f, 40.0f,  87.5f,
                                88.5f, 100.0f,  300.0f,  1e4f,   -0.0f,  1e-38f, -1e-44f};
  for (const Activation activation : kAll) {
    const std::vector<float> values = Values(activation, z), slopes = Slopes(activation, z);
    for (size_t i = 0; i < z.size(); ++i) {
      const auto x = static_cast<double>(z[i]);
      const double tolerance = 1e-6 * std::max(1.0, std::abs(x));
      EXPECT_NEAR(values[i], Value(activation, x), tolerance) << Name(activation) << " " << x;
      if (std::abs(x) > 1) {
        const double slope = x < 0 || activation == Activation::kTanh ? 0.0 : 1.0;
        EXPECT_NEAR(slopes[i], slope, 1e-6) << Name(activation) << " " << x;
      }
    }
  }
}

// A run that diverged must show: what is not a number in double is not finite here.
TEST_P(ActivationTest, InfinitiesAndNaNAreNotHidden) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> z = {infinity, -infinity, std::nanf("")};
  for (const Activation activation : kAll) {
    const std::vector<float> values = Values(activation, z);
    for (size_t i = 0; i < z.size(); ++i) {
      const double want = i == 2 ? std::nan("") : Value(activation, static_cast<double>(z[i]));
      if (std::isnan(want)) {
        EXPECT_FALSE(std::isfinite(values[i])) << Name(activation) << " " << z[i];
      } else {
        EXPECT_EQ(values[i], want) << Name(activation) << " " << z[i];
      }
    }
    EXPECT_TRUE(std::isnan(values[2])) << Name(activation);
    if (activation != Activation::kRelu) {
      EXPECT_TRUE(std::isnan(Slopes(activation, z)[2])) << Name(activation);
    }
  }
}

TEST_P(ActivationTest, AgreesWithThePlainLoopsAtEverySize) {
  for (const int64_t rows : {0, 1, 31, 32, 33, 100}) {
    for (const int64_t width : {1, 15, 64, 65}) ExpectLikeReference({rows, width});
  }
  for (const Activation activation : kAll) {
    for (int64_t width = 0; width <= 33; ++width) ExpectLikeReference({3, width, activation});
  }
}

TEST_P(ActivationTest, AgreesWithEveryOptionalPartLeftOut) {
  for (int bits = 0; bits < 32; ++bits) {
    Case c{5, 37};
    c.bias = (bits & 1) != 0;
    c.a = (bits & 2) != 0;
    c.bf16_out = (bits & 4) != 0;
    c.dz = (bits & 8) != 0;
    c.dbias = (bits & 16) != 0;
    ExpectLikeReference(c);
  }
}

// Under --bf16 the rounded slope is kept in place of z.
TEST_P(ActivationTest, TheSlopeKeptInBf16IsThatOfZAndIsMultipliedOnTheWayBack) {
  for (const Activation activation : kAll) {
    for (const int64_t width : {1, 16, 37}) {
      const Case c{33, width, activation};
      Problem got(c);
      Guarded<bf16> slope(c.rows * width, 1);
      got.forward.slope_bf16 = slope.data();
      ActivationForward(ctx_, got.forward);
      const std::vector<float> exact =
          Slopes(activation, {got.z.span().begin(), got.z.span().end()});
      std::vector<float> want_dz;
      for (size_t i = 0; i < exact.size(); ++i) {
        EXPECT_NEAR(ToFloat(slope[i]), exact[i], 1e-6 + std::abs(exact[i]) / 256);
        want_dz.push_back(got.da[i] * ToFloat(slope[i]));
      }
      got.backward.z = nullptr;
      got.backward.slope_bf16 = slope.data();
      ActivationBackward(ctx_, got.backward);
      ExpectSameBits(got.dz.span(), want_dz, "dz");
      ExpectRounded(got.dz_bf16.span(), got.dz.span(), "dz");
    }
  }
}

TEST_P(ActivationTest, WritesOverItsInputsWhereThatIsAllowed) {
  const Case c{33, 37};
  Problem apart(c), over_da(c), over_z(c);
  over_da.forward.z = over_da.h.data();
  over_da.backward.z = over_da.h.data();
  over_da.backward.dz = over_da.da.data();
  over_z.backward.dz = over_z.z.data();
  for (Problem* problem : {&apart, &over_da, &over_z}) {
    ActivationForward(ctx_, problem->forward);
    ActivationBackward(ctx_, problem->backward);
  }
  ExpectSameBits(over_da.h.span(), apart.z.span(), "z over h");
  ExpectSameBits(over_da.a.span(), apart.a.span(), "a");
  ExpectSameBits(over_da.da.span(), apart.dz.span(), "dz over da");
  ExpectSameBits(over_z.z.span(), apart.dz.span(), "dz over z");
  ExpectSameBits(over_z.dbias.span(), apart.dbias.span(), "dbias");
}

TEST_P(ActivationTest, UsesTheTableOfTheLevel) {
  const ActivationLoops& loops = ActivationLoopsFor(ctx_.isa);
  EXPECT_EQ(&loops, TableOfLevel(baseline::kActivationLoops, avx2::kActivationLoops,
                                 avx512::kActivationLoops));
  // And to the bit what its loop gives: levels differ in their last bits.
  Problem got({1, 1000}), want({1, 1000});
  ActivationForward(ctx_, got.forward);
  const ActivationForwardArgs& f = want.forward;
  loops.forward({f.activation, f.width, f.h, f.bias, f.z, f.a, nullptr, nullptr});
  ExpectSameBits(got.a.span(), want.a.span(), "a");
}

TEST_P(ActivationTest, BitsDoNotDependOnThreads) {
  const Case c{133, 37};
  const auto run = [&](int threads) {
    Problem problem(c);
    ActivationForward(WithThreads(threads), problem.forward);
    ActivationBackward(WithThreads(threads), problem.backward);
    std::vector<float> all;
    for (const Guarded<float>* part : {&problem.z, &problem.a, &problem.dz, &problem.dbias}) {
      all.insert(all.end(), part->span().begin(), part->span().end());
    }
    return all;
  };
  const std::vector<float> one = run(1);
  for (const int threads : {2, 3, 4}) {
    ExpectSameBits(run(threads), one, std::to_string(threads) + " threads");
  }
}

TEST_P(ActivationTest, ColumnSumsAddToWhatWasThereOnAnyThreads) {
  for (const int64_t rows : {0, 1, 31, 32, 33, 100}) {
    for (const int64_t width : {0, 1, 7, 16, 33}) {
      const int64_t ld = width + 5;
      std::vector<float> values = RandomValues(rows * ld, 1);
      for (size_t i = 0; i < values.size(); ++i) {
        if (static_cast<int64_t>(i) % ld >= width) values[i] = std::nanf("");  // between the rows
      }
      const std::vector<float> start = RandomValues(width, 2);
      for (const bool as_bf16 : {false, true}) {
        Guarded<float> x(values, 1);
        Guarded<bf16> x_bf16(Rounded(values), 1);
        std::vector<double> want = Widened(start);
        for (int64_t i = 0; i < rows * ld; ++i) {
          if (i % ld >= width) continue;
          const auto at = static_cast<size_t>(i);
          want[static_cast<size_t>(i % ld)] += as_bf16 ? ToFloat(x_bf16[at]) : x[at];
        }
        std::vector<float> first;
        for (const int threads : {1, 2, 3, 4}) {
          Guarded<float> sums(start, 1);
          if (as_bf16) {
            AddColumnSums(WithThreads(threads), rows, width, ld, x_bf16.data(), sums.data());
          } else {
            AddColumnSums(WithThreads(threads), rows, width, ld, x.data(), sums.data());
          }
          const std::string what = std::to_string(rows) + "x" + std::to_string(width) + ", " +
                                   std::to_string(threads) + " threads";
          ExpectClose(
              sums.span(), want,
              [&](size_t) { return kFloatEpsilon * static_cast<double>(rows + 1); }, what);
          if (threads == 1) first.assign(sums.span().begin(), sums.span().end());
          ExpectSameBits(sums.span(), first, what);
        }
      }
    }
  }
}

TEST(ParseActivation, KnowsTheNamesOfConfigurations) {
  EXPECT_EQ(ParseActivation("gelu"), Activation::kGelu);
  for (const char* name : {"gelu_new", "gelu_fast", "gelu_pytorch_tanh"}) {
    EXPECT_EQ(ParseActivation(name), Activation::kGeluTanh) << name;
  }
  EXPECT_EQ(ParseActivation("relu"), Activation::kRelu);
  EXPECT_EQ(ParseActivation("silu"), Activation::kSilu);
  EXPECT_EQ(ParseActivation("swish"), Activation::kSilu);
  EXPECT_EQ(ParseActivation("tanh"), Activation::kTanh);
  EXPECT_THROW(ParseActivation("quick_gelu"), Error);
}

}  // namespace
}  // namespace hagane::kernels
