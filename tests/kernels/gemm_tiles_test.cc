// The product on tiles, emulated on every machine and, where there is AMX, on the hardware.
#include "kernels/gemm_tiles.h"

#include "kernels/activation.h"
#include "kernels/gemm_activation.h"
#include "tests/kernels/level_test.h"

namespace hagane::kernels {
namespace {

struct Case {
  int64_t m, n, k;
  bool a_transposed = false, b_transposed = false;
  bool bf16_out = false, bias = false, accumulate = false;
};

class TileGemmTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ctx_.cpu = DetectCpu();
    ctx_.isa = ctx_.cpu.best;
    ctx_.log = &log_;
    if (GetParam() && !HasTiles(ctx_)) GTEST_SKIP() << "this CPU lacks AMX";
  }
  const TileGemmLoops& loops() const {
    return GetParam() ? amx::kTileGemmLoops : baseline::kTileGemmLoops;
  }
  RunContext WithThreads(int threads) const {
    RunContext ctx = ctx_;
    ctx.threads = threads;
    return ctx;
  }

  NullLog log_;
  RunContext ctx_;
};
INSTANTIATE_TEST_SUITE_P(Tiles, TileGemmTest, testing::Bool(),
                         [](const auto& which) { return which.param ? "amx" : "emulated"; });

// Operands with rows 3 elements apart from each other; what lies between them is NaN.
struct Problem {
  explicit Problem(const Case& c)
      : args(),
        a(Operand(c.a_transposed ? c.k : c.m, c.a_transposed ? c.m : c.k, 1)),
        b(Operand(c.b_transposed ? c.n : c.k, c.b_transposed ? c.k : c.n, 2)),
        bias(RandomValues(c.n, 3)),
        start(RandomValues(c.m * c.n, 4)) {
    args.m = c.m;
    args.n = c.n;
    args.k = c.k;
    args.a = {nullptr, a.data(), (c.a_transposed ? c.m : c.k) + 3, c.a_transposed};
    args.b = {nullptr, b.data(), (c.b_transposed ? c.k : c.n) + 3, c.b_transposed};
    args.ldc = c.n;
    if (c.bias) args.bias = bias.data();
    args.accumulate = c.accumulate;
  }
  static std::vector<bf16> Operand(int64_t rows, int64_t width, unsigned seed) {
    std::vector<float> values = RandomValues(rows * (width + 3), seed);
    for (size_t i = 0; i < values.size(); ++i) {
      if (static_cast<int64_t>(i) % (width + 3) >= width) values[i] = std::nanf("");
    }
    return Rounded(values);
  }
  // Sums of k products of values in [-1, 1].
  double tolerance() const { return 4 * kFloatEpsilon * (static_cast<double>(args.k) + 4); }

  GemmArgs args;
  std::vector<bf16> a, b;
  std::vector<float> bias, start;
};

void ExpectLikeReference(const RunContext& ctx, const TileGemmLoops& loops, const Case& c) {
  Problem problem(c);
  const std::string label = std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
                            std::to_string(c.k) + (c.a_transposed ? " aT" : "") +
                            (c.b_transposed ? " bT" : "");
  Guarded<float> got(problem.start, 1), want(problem.start);
  problem.args.c = want.data();
  GemmReference(problem.args);
  if (c.bf16_out) {
    Guarded<bf16> rounded(c.m * c.n, 1);
    problem.args.c = nullptr;
    problem.args.c_bf16 = rounded.data();
    TileGemm(ctx, loops, problem.args);
    std::vector<float> widened;
    for (const bf16 x : rounded.span()) widened.push_back(ToFloat(x));
    ExpectClose(
        widened, want.span(),
        [&](size_t i) { return problem.tolerance() + std::abs(double{want[i]}) / 256; }, label);
    return;
  }
  problem.args.c = got.data();
  TileGemm(ctx, loops, problem.args);
  ExpectClose(
      got.span(), want.span(), [&](size_t) { return problem.tolerance(); }, label);
}

TEST_P(TileGemmTest, AgreesWithTheReferenceEveryWayAtSizesAroundATile) {
  for (int bits = 0; bits < 32; ++bits) {
    const auto flag = [&](int bit) { return (bits >> bit & 1) != 0; };
    if (flag(2) && flag(4)) continue;
    for (const int64_t m : {1, 16, 33}) {
      for (const int64_t n : {1, 17, 64}) {
        for (const int64_t k : {1, 31, 32, 65}) {
          ExpectLikeReference(WithThreads(1), loops(),
                              {m, n, k, flag(0), flag(1), flag(2), flag(3), flag(4)});
        }
      }
    }
  }
}

TEST_P(TileGemmTest, EverySizeUpToTwoTilesAgrees) {
  for (int64_t size = 1; size <= 66; ++size) {
    ExpectLikeReference(WithThreads(1), loops(), {size, 5, 7, true});
    ExpectLikeReference(WithThreads(1), loops(), {5, size, 7, false, true});
    ExpectLikeReference(WithThreads(1), loops(), {5, 7, size});
  }
}

TEST_P(TileGemmTest, SeveralBlocksAgreeAndBitsDoNotDependOnThreads) {
  for (const Case& c :
       {Case{301, 130, 70, false, true, false, true},
        Case{130, 300, 301, true, false, false, false, true}, Case{70, 700, 40, false, false}}) {
    ExpectLikeReference(WithThreads(2), loops(), c);
    Problem problem(c);
    std::vector<float> first;
    for (const int threads : {1, 2, 3, 4}) {
      std::vector<float> got = problem.start;
      problem.args.c = got.data();
      TileGemm(WithThreads(threads), loops(), problem.args);
      if (threads == 1) first = got;
      ExpectSameBits(got, first, std::to_string(threads) + " threads");
    }
  }
}

TEST_P(TileGemmTest, TheActivationAndItsSlopeAreThoseOfTheSum) {
  for (const Activation activation : {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu,
                                      Activation::kSilu, Activation::kTanh}) {
    for (const int64_t n : {15, 32, 150}) {
      const Case c{70, n, 40, false, true, false, true};
      Problem problem(c);
      std::vector<float> z(problem.start.size());
      problem.args.c = z.data();
      GemmReference(problem.args);
      Guarded<float> a(c.m * n), slope(c.m * n), ones(std::vector<float>(z.size(), 1.0f));
      ActivationForwardArgs forward;
      forward.rows = c.m;
      forward.width = n;
      forward.activation = activation;
      forward.h = forward.z = z.data();
      forward.a = a.data();
      ActivationForwardReference(forward);
      ActivationBackwardArgs backward;
      backward.rows = c.m;
      backward.width = n;
      backward.activation = activation;
      backward.da = ones.data();
      backward.z = z.data();
      backward.dz = slope.data();
      ActivationBackwardReference(backward);

      Guarded<bf16> got_a(c.m * n, 1), got_slope(c.m * n, 3);
      problem.args.c = nullptr;
      problem.args.c_bf16 = got_a.data();
      TileEpilogue epilogue;
      epilogue.activation = activation;
      epilogue.slope_out = got_slope.data();
      TileGemm(WithThreads(2), loops(), problem.args, epilogue);
      for (const auto& [got, want] : {std::pair(&got_a, &a), std::pair(&got_slope, &slope)}) {
        std::vector<float> widened;
        for (const bf16 x : got->span()) widened.push_back(ToFloat(x));
        // relu's slope jumps at 0, where the sums' last bits decide.
        ExpectClose(
            widened, want->span(),
            [&](size_t i) {
              const bool corner = activation == Activation::kRelu && std::abs(z[i]) < 1e-5f;
              return corner ? 1.0 : 2e-5 + std::abs(double{(*want)[i]}) / 200;
            },
            "activation " + std::to_string(static_cast<int>(activation)));
      }
    }
  }
}

TEST_P(TileGemmTest, TheSlopeIsMultipliedAndColumnsAreSummedOnAnyThreads) {
  for (const int64_t n : {15, 32, 150}) {
    const Case c{270, n, 40};
    Problem problem(c);
    std::vector<float> want(problem.start.size());
    problem.args.c = want.data();
    GemmReference(problem.args);
    const std::vector<bf16> slope = Rounded(problem.start);
    const std::vector<float> start = RandomValues(n, 9);
    std::vector<double> sums = Widened(start);
    for (size_t i = 0; i < want.size(); ++i) {
      want[i] *= ToFloat(slope[i]);
      sums[i % static_cast<size_t>(n)] += want[i];
    }
    problem.args.c = nullptr;
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
      Guarded<bf16> got(c.m * n, 1);
      Guarded<float> dbias(start, 1);
      problem.args.c_bf16 = got.data();
      TileEpilogue epilogue;
      epilogue.slope_in = slope.data();
      epilogue.column_sums = dbias.data();
      TileGemm(WithThreads(threads), loops(), problem.args, epilogue);
      std::vector<float> widened;
      for (const bf16 x : got.span()) widened.push_back(ToFloat(x));
      ExpectClose(
          widened, want, [&](size_t i) { return 2e-5 + std::abs(double{want[i]}) / 200; }, "dz");
      ExpectClose(
          dbias.span(), sums, [](size_t) { return 1e-3; }, "dbias");
      if (threads == 1) first.assign(dbias.span().begin(), dbias.span().end());
      ExpectSameBits(dbias.span(), first, std::to_string(threads) + " threads");
    }
  }
}

// What layers call: on tiles where there are, by product and activation elsewhere; every level.
class GemmActivationTest : public LevelTest {};
HAGANE_TEST_EVERY_LEVEL(GemmActivationTest);

TEST_P(GemmActivationTest, ThereAndBackAgreeWithThePlainLoops) {
  const Case c{70, 96, 64, false, true, false, true};
  const size_t size = static_cast<size_t>(c.m * c.n);
  Problem problem(c);
  std::vector<float> z(size), a(size);
  std::vector<bf16> slope(size);
  problem.args.c = z.data();
  GemmReference(problem.args);
  ActivationForwardArgs forward;
  forward.rows = c.m;
  forward.width = c.n;
  forward.h = z.data();
  forward.a = a.data();
  forward.slope_bf16 = slope.data();
  ActivationForwardReference(forward);
  problem.args.c = nullptr;

  Guarded<bf16> got_a(c.m * c.n), got_slope(c.m * c.n), dz(c.m * c.n);
  GemmActivation(ctx_, {problem.args, Activation::kGelu, got_a.data(), got_slope.data()});
  for (size_t i = 0; i < size; ++i) {
    ASSERT_NEAR(ToFloat(got_a[i]), a[i], 1e-5 + std::abs(a[i]) / 200) << i;
    ASSERT_NEAR(ToFloat(got_slope[i]), ToFloat(slope[i]), 1e-5 + std::abs(ToFloat(slope[i])) / 100);
  }
  std::vector<float> dbias(static_cast<size_t>(c.n), 1.0f);
  std::vector<double> sums(dbias.size(), 1.0);
  problem.args.bias = nullptr;
  GemmSlope(ctx_, {problem.args, slope.data(), dz.data(), dbias.data()});
  for (size_t i = 0; i < size; ++i) {
    const float product = z[i] - problem.bias[i % dbias.size()];
    const float want = product * ToFloat(slope[i]);
    sums[i % dbias.size()] += want;
    ASSERT_NEAR(ToFloat(dz[i]), want, 1e-5 + std::abs(want) / 200) << i;
  }
  ExpectClose(
      dbias, sums, [](size_t) { return 1e-4; }, "dbias");
}

}  // namespace
}  // namespace hagane::kernels
