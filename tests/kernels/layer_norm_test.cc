#include "kernels/layer_norm.h"

#include "kernels/dropout_mask.h"
#include "kernels/layer_norm_loops.h"
#include "tests/kernels/level_test.h"

namespace hagane::kernels {
namespace {

struct Case {
  int64_t rows, width;
  bool bias = true, residual = true, bf16_out = true, dy2 = true, dh = true;
  float dropout = 0.2f;
  bool in_place = false;  // z over h, dz over dy
  float offset = 0.0f;    // of h, so that the mean is far from 0

  std::string Name() const {
    return std::to_string(rows) + "x" + std::to_string(width) + (bias ? " bias" : "") +
           (residual ? " residual" : "") + (bf16_out ? " bf16" : "") + (dy2 ? " dy2" : "") +
           (dh ? " dh" : "") + " dropout " + std::to_string(dropout) +
           (in_place ? " in place" : "") + " offset " + std::to_string(offset);
  }
};

// Everything that the kernel reads and writes for one case.
struct Problem {
  explicit Problem(const Case& c)
      : size(c.rows * c.width),
        keys({c.rows / 3, c.rows - c.rows / 3}),
        h_in(RandomValues(size, 1)),
        dy_in(RandomValues(size, 2)),
        h(h_in, 1),
        residual(RandomValues(size, 3), 2),
        bias(RandomValues(c.width, 4), 3),
        gamma(RandomValues(c.width, 5, 2.0f), 1),
        beta(RandomValues(c.width, 6), 2),
        dy(dy_in, 1),
        dy2(RandomValues(size, 7), 3),
        z_out(size, 1),
        y(size, 2),
        dz_out(size, 3),
        dh(size, 1),
        mean(c.rows, 1),
        rstd(c.rows, 1),
        y_bf16(size, 1),
        dh_bf16(size, 3),
        dgamma(RandomValues(c.width, 8), 1),
        dbeta(RandomValues(c.width, 9), 2),
        dbias(RandomValues(c.width, 10), 3) {
    for (int64_t i = 0; i < size; ++i) h.data()[i] += c.offset;
    forward.rows = backward.rows = c.rows;
    forward.width = backward.width = c.width;
    forward.dropout = backward.dropout = SomeDropout(c.dropout);
    forward.keys = backward.keys = keys.View();
    forward.h = h.data();
    if (c.bias) forward.bias = bias.data();
    if (c.residual) forward.residual = residual.data();
    forward.gamma = backward.gamma = gamma.data();
    forward.beta = beta.data();
    forward.eps = 1e-5f;
    forward.z = c.in_place ? h.data() : z_out.data();
    forward.mean = mean.data();
    forward.rstd = rstd.data();
    forward.y = y.data();
    if (c.bf16_out) forward.y_bf16 = y_bf16.data();
    backward.dy = dy.data();
    if (c.dy2) backward.dy2 = dy2.data();
    backward.z = forward.z;
    backward.mean = mean.data();
    backward.rstd = rstd.data();
    backward.dz = c.in_place ? dy.data() : dz_out.data();
    if (c.dh) backward.dh = dh.data();
    if (c.bf16_out) backward.dh_bf16 = dh_bf16.data();
    backward.dgamma = dgamma.data();
    backward.dbeta = dbeta.data();
    if (c.bias) backward.dbias = dbias.data();
  }
  std::span<const float> Z() const { return {forward.z, static_cast<size_t>(size)}; }
  std::span<const float> Dz() const { return {backward.dz, static_cast<size_t>(size)}; }

  int64_t size;
  TokenKeys keys;
  std::vector<float> h_in, dy_in;
  Guarded<float> h, residual, bias, gamma, beta, dy, dy2;
  Guarded<float> z_out, y, dz_out, dh, mean, rstd;
  Guarded<bf16> y_bf16, dh_bf16;
  Guarded<float> dgamma, dbeta, dbias;
  LayerNormForwardArgs forward;
  LayerNormBackwardArgs backward;
};

class LayerNormTest : public LevelTest {
 protected:
  // Tolerances are some roundings of the largest terms that each result is made of.
  static constexpr double kRoundings = 8 * kFloatEpsilon;

  void ExpectLikeReference(const Case& c) const {
    Problem got(c), want(c);
    LayerNormForward(ctx_, got.forward);
    LayerNormForwardReference(want.forward);
    const std::string name = c.Name();
    const auto row_of = [&](size_t i) { return i / static_cast<size_t>(c.width); };
    std::vector<double> z_size, normal_size;  // largest |z| and |z| rstd of each row
    for (int64_t row = 0; row < c.rows; ++row) {
      z_size.push_back(MaxAbs(
          want.Z().subspan(static_cast<size_t>(row * c.width), static_cast<size_t>(c.width))));
      normal_size.push_back(z_size.back() * want.forward.rstd[row]);
    }
    const double terms = 6 + std::abs(static_cast<double>(c.offset));
    ExpectClose(
        got.Z(), want.Z(), [&](size_t) { return kRoundings * terms; }, name + " z");
    ExpectClose(
        got.mean.span(), want.mean.span(),
        [&](size_t row) { return kRoundings * (1 + z_size[row]); }, name + " mean");
    ExpectClose(
        got.rstd.span(), want.rstd.span(),
        [&](size_t row) { return kRoundings * want.rstd[row] * (1 + normal_size[row]); },
        name + " rstd");
    ExpectClose(
        got.y.span(), want.y.span(),
        [&](size_t i) { return kRoundings * (1 + 2 * 3 * (1 + normal_size[row_of(i)])); },
        name + " y");
    if (c.bf16_out) ExpectRounded(got.y_bf16.span(), got.y.span(), name + " y");

    // Backward of both from the reference's z and statistics.
    std::copy(want.Z().begin(), want.Z().end(), got.forward.z);
    std::copy_n(want.mean.data(), c.rows, got.mean.data());
    std::copy_n(want.rstd.data(), c.rows, got.rstd.data());
    LayerNormBackward(ctx_, got.backward);
    LayerNormBackwardReference(want.backward);
    // |dy| <= 2, |gamma| <= 2, |x| <= |z| rstd + |mean| rstd.
    const auto dz_tolerance = [&](size_t i) {
      const double x = 2 * normal_size[row_of(i)];
      return kRoundings * want.rstd[row_of(i)] * 4 * (1 + x) * (1 + std::min(x, 4.0));
    };
    ExpectClose(got.Dz(), want.Dz(), dz_tolerance, name + " dz");
    if (c.dh) {
      ExpectClose(
          got.dh.span(), want.dh.span(), [&](size_t i) { return 2 * dz_tolerance(i); },
          name + " dh");
      if (c.bf16_out) ExpectRounded(got.dh_bf16.span(), got.dh.span(), name + " dh");
    }
    double normals = 1, slopes = 1;
    for (int64_t row = 0; row < c.rows; ++row) {
      normals += 1 + normal_size[static_cast<size_t>(row)];
      slopes += 2 * dz_tolerance(static_cast<size_t>(row * c.width)) / kRoundings;
    }
    ExpectClose(
        got.dgamma.span(), want.dgamma.span(), [&](size_t) { return kRoundings * normals; },
        name + " dgamma");
    ExpectClose(
        got.dbeta.span(), want.dbeta.span(),
        [&](size_t) { return kRoundings * (1.0 + static_cast<double>(c.rows)); }, name + " dbeta");
    ExpectClose(
        got.dbias.span(), want.dbias.span(), [&](size_t) { return kRoundings * slopes; },
        name + " dbias");
  }
};
HAGANE_TEST_EVERY_LEVEL(LayerNormTest);

TEST_P(LayerNormTest, AgreesWithThePlainLoopsAtEverySize) {
  for (const int64_t rows : {0, 1, 31, 32, 33, 100}) {
    for (const int64_t width : {4, 8, 12, 16, 20, 24, 28, 32, 36, 64, 68, 384}) {
      ExpectLikeReference({rows, width});
    }
  }
}

TEST_P(LayerNormTest, AgreesWithEveryOptionalPartLeftOut) {
  for (int bits = 0; bits < 128; ++bits) {
    for (const int64_t width : {20, 64}) {
      Case c{5, width};
      c.bias = (bits & 1) != 0;
      c.residual = (bits & 2) != 0;
      c.bf16_out = (bits & 4) != 0;
      c.dy2 = (bits & 8) != 0;
      c.dh = (bits & 16) != 0;
      c.dropout = (bits & 32) != 0 ? 0.5f : 0.0f;
      c.in_place = (bits & 64) != 0;
      ExpectLikeReference(c);
    }
  }
}

TEST_P(LayerNormTest, GradientsMayBeWrittenOverTheOtherInput) {
  for (const float p : {0.0f, 0.3f}) {
    Case c{33, 68};
    c.dropout = p;
    Problem apart(c), over(c);
    over.backward.dz = over.dy2.data();
    if (p == 0.0f) over.backward.dh = over.backward.dz;
    for (Problem* problem : {&apart, &over}) {
      LayerNormForward(ctx_, problem->forward);
      LayerNormBackward(ctx_, problem->backward);
    }
    ExpectSameBits(over.Dz(), apart.Dz(), "dz");
    ExpectSameBits(over.dbias.span(), apart.dbias.span(), "dbias");
  }
}

// The difference of E[z^2] and E[z]^2 would lose all digits here.
TEST_P(LayerNormTest, AMeanFarFromZeroDoesNotDrownTheVariance) {
  Case c{8, 384};
  c.dropout = 0;
  for (const float offset : {100.0f, 3000.0f}) {
    c.offset = offset;
    ExpectLikeReference(c);
  }
}

TEST_P(LayerNormTest, RowsOfOneValueStayFinite) {
  for (const float value : {0.0f, 0.1f, -1e6f}) {
    Case c{3, 20};
    c.bias = c.residual = false;
    c.dropout = 0;
    Problem problem(c);
    std::fill_n(problem.h.data(), problem.size, value);
    problem.forward.eps = 1e-12f;
    LayerNormForward(ctx_, problem.forward);
    LayerNormBackward(ctx_, problem.backward);
    for (const float y : problem.y.span()) EXPECT_TRUE(std::isfinite(y)) << value;
    for (const float dz : problem.Dz()) EXPECT_TRUE(std::isfinite(dz)) << value;
  }
}

TEST_P(LayerNormTest, UsesTheTableOfTheLevel) {
  const LayerNormLoops& loops = LayerNormLoopsFor(ctx_.isa);
  EXPECT_EQ(&loops, TableOfLevel(baseline::kLayerNormLoops, avx2::kLayerNormLoops,
                                 avx512::kLayerNormLoops));
  // And to the bit what its loop gives: levels differ in their last bits.
  Case c{1, 384};
  c.dropout = 0;
  Problem got(c), want(c);
  LayerNormForward(ctx_, got.forward);
  const LayerNormForwardArgs& f = want.forward;
  loops.forward({f.width, f.h, f.bias, nullptr, f.residual, f.gamma, f.beta, f.eps, f.z, f.mean,
                 f.rstd, f.y, nullptr});
  ExpectSameBits(got.y.span(), want.y.span(), "y");
}

// Against the definition in double, apart from the plain loops.
TEST_P(LayerNormTest, GradientsAreTheSlopesOfTheForwardPass) {
  for (const int64_t width : {4, 20}) {
    Case c{3, width};
    Problem problem(c);
    std::fill_n(problem.dgamma.data(), width, 0.0f);
    std::fill_n(problem.dbeta.data(), width, 0.0f);
    std::fill_n(problem.dbias.data(), width, 0.0f);
    LayerNormForward(ctx_, problem.forward);
    LayerNormBackward(ctx_, problem.backward);

    const auto n = static_cast<size_t>(width), size = 3 * n;
    // inputs: h, residual, bias, gamma, beta one after the other
    const auto loss = [&](const std::vector<double>& in) {
      double sum = 0;
      for (size_t row = 0; row < 3; ++row) {
        std::vector<double> z(n);
        double mean = 0, variance = 0;
        for (size_t i = 0; i < n; ++i) {
          const size_t at = row * n + i;
          const float factor =
              DropoutFactor(problem.forward.dropout, problem.keys.View().sample[row],
                            problem.keys.View().token[row] * n + i);
          z[i] = (in[at] + in[2 * size + i]) * static_cast<double>(factor) + in[size + at];
          mean += z[i] / static_cast<double>(n);
        }
        for (const double x : z) variance += (x - mean) * (x - mean) / static_cast<double>(n);
        for (size_t i = 0; i < n; ++i) {
          const double normal = (z[i] - mean) / std::sqrt(variance + 1e-5);
          const double y = normal * in[2 * size + n + i] + in[2 * size + 2 * n + i];
          const size_t at = row * n + i;
          sum += y * (static_cast<double>(problem.dy[at]) + static_cast<double>(problem.dy2[at]));
        }
      }
      return sum;
    };
    std::vector<double> inputs;
    for (const Guarded<float>* part :
         {&problem.h, &problem.residual, &problem.bias, &problem.gamma, &problem.beta}) {
      inputs.insert(inputs.end(), part->span().begin(), part->span().end());
    }
    std::vector<double> gradients;
    for (const Guarded<float>* part :
         {&problem.dh, &problem.dz_out, &problem.dbias, &problem.dgamma, &problem.dbeta}) {
      gradients.insert(gradients.end(), part->span().begin(), part->span().end());
    }
    ExpectClose(
        gradients, CentralDifferences(loss, inputs), [](size_t) { return 2e-5; },
        "width " + std::to_string(width));
  }
}

TEST_P(LayerNormTest, ASequenceAloneIsWhatItIsInABatch) {
  constexpr int64_t kWidth = 68;
  Case c{54, kWidth};
  Problem batch(c);
  const TokenKeys batch_keys({14, 40}), keys({40}, 3 + 7);
  batch.forward.keys = batch.backward.keys = batch_keys.View();
  Problem alone({40, kWidth});
  alone.forward.keys = alone.backward.keys = keys.View();
  constexpr int64_t kAt = 14 * kWidth;
  std::copy_n(batch.h.data() + kAt, 40 * kWidth, alone.h.data());
  std::copy_n(batch.residual.data() + kAt, 40 * kWidth, alone.residual.data());
  std::copy_n(batch.dy.data() + kAt, 40 * kWidth, alone.dy.data());
  std::copy_n(batch.dy2.data() + kAt, 40 * kWidth, alone.dy2.data());
  for (Problem* problem : {&batch, &alone}) {
    LayerNormForward(ctx_, problem->forward);
    LayerNormBackward(ctx_, problem->backward);
  }
  ExpectSameBits(alone.y.span(), batch.y.span().subspan(kAt), "y");
  ExpectSameBits(alone.dh.span(), batch.dh.span().subspan(kAt), "dh");
}

TEST_P(LayerNormTest, ForwardAndBackwardDrawOneMask) {
  Case c{40, 64};
  c.residual = false;  // a dropped z is 0
  c.dropout = 0.5f;
  Problem problem(c);
  LayerNormForward(ctx_, problem.forward);
  LayerNormBackward(ctx_, problem.backward);
  for (size_t i = 0; i < static_cast<size_t>(problem.size); ++i) {
    ASSERT_EQ(problem.Z()[i] == 0.0f, problem.dh[i] == 0.0f) << i;
  }
}

TEST_P(LayerNormTest, BitsDoNotDependOnThreads) {
  const Case c{133, 68};
  const auto run = [&](int threads) {
    Problem problem(c);
    LayerNormForward(WithThreads(threads), problem.forward);
    LayerNormBackward(WithThreads(threads), problem.backward);
    std::vector<float> all;
    for (const Guarded<float>* part :
         {&problem.z_out, &problem.mean, &problem.rstd, &problem.y, &problem.dz_out, &problem.dh,
          &problem.dgamma, &problem.dbeta, &problem.dbias}) {
      all.insert(all.end(), part->span().begin(), part->span().end());
    }
    return all;
  };
  const std::vector<float> one = run(1);
  for (const int threads : {2, 3, 4}) {
    ExpectSameBits(run(threads), one, std::to_string(threads) + " threads");
  }
}

}  // namespace
}  // namespace hagane::kernels
