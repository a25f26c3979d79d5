#include "kernels/attention.h"

#include "kernels/attention_tiles.h"
#include "kernels/dropout_mask.h"
#include "tests/kernels/level_test.h"

namespace hagane::kernels {
namespace {

struct Case {
  std::vector<int32_t> lengths;
  int heads = 2, head_size = 32;
  float dropout = 0.0f;
  bool bf16_in = false, bf16_out = false;
  float query_size = 1.0f;  // times this are the queries and so the scores
  uint32_t first_sample = 3;

  std::string Name() const {
    std::string name;
    for (const int32_t length : lengths) name += std::to_string(length) + " ";
    return name + "tokens, " + std::to_string(heads) + "x" + std::to_string(head_size) +
           ", dropout " + std::to_string(dropout) + (bf16_in ? ", bf16 in" : "") +
           (bf16_out ? ", bf16 out" : "") + ", queries x" + std::to_string(query_size);
  }
};

// Everything that the kernel reads and writes for one case.
struct Problem {
  explicit Problem(const Case& c)
      : borders(Borders(c.lengths)),
        tokens(borders.back()),
        hidden(int64_t{c.heads} * c.head_size),
        qkv(Values(c, tokens, hidden), 1),
        qkv_bf16(Rounded(qkv.span()), 1),
        dout(RandomValues(tokens * hidden, 2), 3),
        log_sum_exp(c.heads * tokens, 1),
        out(tokens * hidden, 2),
        dqkv(tokens * 3 * hidden, 3),
        out_bf16(tokens * hidden, 1),
        dqkv_bf16(tokens * 3 * hidden, 1) {
    for (size_t i = 0; i < c.lengths.size(); ++i) {
      samples.push_back(c.first_sample + static_cast<uint32_t>(i));
    }
    AttentionShape shape;
    shape.sequences = static_cast<int>(c.lengths.size());
    shape.cu_seqlens = borders.data();
    shape.samples = samples.data();
    shape.heads = c.heads;
    shape.head_size = c.head_size;
    shape.dropout = SomeDropout(c.dropout, DropoutSite::kAttentionProbs);
    forward.shape = backward.shape = shape;
    if (c.bf16_in) {
      forward.qkv_bf16 = backward.qkv_bf16 = qkv_bf16.data();
    } else {
      forward.qkv = backward.qkv = qkv.data();
    }
    forward.log_sum_exp = log_sum_exp.data();
    backward.log_sum_exp = log_sum_exp.data();
    backward.dout = dout.data();
    if (c.bf16_out) {
      forward.out_bf16 = out_bf16.data();
      backward.dqkv_bf16 = dqkv_bf16.data();
    } else {
      forward.out = out.data();
      backward.dqkv = dqkv.data();
    }
  }
  void Run(const RunContext& ctx) const {
    AttentionForward(ctx, forward);
    AttentionBackward(ctx, backward);
  }
  void RunReference() const {
    AttentionForwardReference(forward);
    AttentionBackwardReference(backward);
  }

  static std::vector<int32_t> Borders(const std::vector<int32_t>& lengths) {
    std::vector<int32_t> borders = {0};
    for (const int32_t length : lengths) borders.push_back(borders.back() + length);
    return borders;
  }
  // Values that bf16 holds exactly, so that both types of input are the same numbers.
  static std::vector<float> Values(const Case& c, int64_t tokens, int64_t hidden) {
    std::vector<float> values = RandomValues(tokens * 3 * hidden, 1);
    for (size_t i = 0; i < values.size(); ++i) {
      if (static_cast<int64_t>(i) % (3 * hidden) < hidden) values[i] *= c.query_size;
      values[i] = ToFloat(ToBf16(values[i]));
    }
    return values;
  }

  std::vector<int32_t> borders;
  int64_t tokens, hidden;
  std::vector<uint32_t> samples;
  Guarded<float> qkv;
  Guarded<bf16> qkv_bf16;
  Guarded<float> dout, log_sum_exp, out, dqkv;
  Guarded<bf16> out_bf16, dqkv_bf16;
  AttentionForwardArgs forward;
  AttentionBackwardArgs backward;
};

class AttentionTest : public LevelTest {
 protected:
  // `loops`: other than those that the context chooses.
  void ExpectLikeReference(const Case& c, const AttentionLoops* loops = nullptr) const {
    Problem got(c), want(c);
    if (loops == nullptr) {
      got.Run(ctx_);
    } else {
      AttentionForwardBy(ctx_, *loops, got.forward);
      AttentionBackwardBy(ctx_, *loops, got.backward);
    }
    want.RunReference();
    // Scores are below |q| |k| / sqrt(d); their rounding is the relative error of probabilities.
    // Norms of vectors of values in [-1, 1] are about sqrt(d / 3).
    const double d = c.head_size;
    const double scores = 1.5 * c.query_size * std::sqrt(d) / 3 + 1;
    const double scale = 1 / (1 - static_cast<double>(c.dropout));
    const double roundings = 16 * kFloatEpsilon * (1 + scores) * scale;
    const std::string name = c.Name();
    ExpectClose(
        got.log_sum_exp.span(), want.log_sum_exp.span(),
        [&](size_t) { return 4 * kFloatEpsilon * (5 + scores); }, name + " log sum exp");
    // P' and dS are operands too: in bf16 one may fall to the other side of a tie.
    const auto mean_square = [](std::span<const float> x) {
      double sum = 0;
      for (const float value : x) sum += static_cast<double>(value) * static_cast<double>(value);
      return std::sqrt(sum / static_cast<double>(std::max<size_t>(x.size(), 1)));
    };
    const auto tolerance = [&](std::span<const float> exact, double exact_roundings) {
      const double bf16_step = c.bf16_in ? mean_square(exact) / 256 : 0.0;
      return [=](size_t i) {
        return exact_roundings + bf16_step + (c.bf16_in ? std::abs(exact[i]) / 256 : 0.0);
      };
    };
    ExpectClose(got.out.span(), want.out.span(), tolerance(want.out.span(), roundings),
                name + " out");
    // dP = dO V' is below |dO| |v|, about d / 3.
    const double slopes = roundings * (1 + d / 3 * c.query_size / std::sqrt(d));
    ExpectClose(got.dqkv.span(), want.dqkv.span(), tolerance(want.dqkv.span(), slopes),
                name + " dqkv");
  }
};
HAGANE_TEST_EVERY_LEVEL(AttentionTest);

TEST_P(AttentionTest, AgreesWithThePlainLoopsAtEveryLength) {
  for (const int32_t length : {1, 2, 15, 16, 17, 32, 33, 47, 48, 49, 64, 100, 130}) {
    for (const bool bf16_in : {false, true}) {
      for (const float dropout : {0.0f, 0.2f}) {
        Case c{{length}};
        c.heads = 2;
        c.head_size = 20;
        c.bf16_in = bf16_in;
        c.dropout = dropout;
        ExpectLikeReference(c);
      }
    }
  }
}

TEST_P(AttentionTest, AgreesWithThePlainLoopsAtEveryHeadSize) {
  for (const int head_size : {4, 20, 32, 64, 128}) {
    for (const bool bf16_in : {false, true}) {
      for (const float dropout : {0.0f, 0.2f}) {
        Case c{{49, 1, 7}};
        c.heads = 3;
        c.head_size = head_size;
        c.bf16_in = bf16_in;
        c.dropout = dropout;
        ExpectLikeReference(c);
      }
    }
  }
}

// The kernel that runs on AMX, on tiles made of plain loops.
TEST_P(AttentionTest, OnEmulatedTilesItAgreesWithThePlainLoops) {
  Case c;
  c.bf16_in = true;
  for (const int32_t length : {1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 130}) {
    for (const int head_size : {4, 20, 32, 64}) {
      for (const float dropout : {0.0f, 0.2f}) {
        c.lengths = {length, 3};
        c.head_size = head_size;
        c.dropout = dropout;
        ExpectLikeReference(c, &baseline::kAttentionTileLoops);
      }
    }
  }
  c.lengths = {49, 2};
  c.query_size = 50.0f;
  ExpectLikeReference(c, &baseline::kAttentionTileLoops);
}

// Rows and columns past the length are operands too: what the scratch held must not reach results.
TEST_P(AttentionTest, OnEmulatedTilesTheScratchMayHoldAnything) {
  constexpr int64_t kLength = 33, kSize = 20;
  const std::vector<bf16> qkv = Rounded(RandomValues(kLength * 3 * kSize, 1));
  const std::vector<float> dout = RandomValues(kLength * kSize, 2);
  const AttentionLoops& loops = baseline::kAttentionTileLoops;
  const auto run = [&](int byte) {
    const int64_t floats =
        std::max(loops.forward_scratch(kLength, kSize), loops.backward_scratch(kLength, kSize));
    AlignedBuffer<float> scratch(static_cast<size_t>(floats));
    std::vector<float> out(dout.size()), lse(kLength), dqkv(qkv.size());
    HeadInput in = {};
    in.length = kLength;
    in.head_size = kSize;
    in.ld = 3 * kSize;
    in.q_bf16 = &qkv[0].bits;
    in.k_bf16 = &qkv[kSize].bits;
    in.v_bf16 = &qkv[2 * kSize].bits;
    in.scale = 0.2f;
    std::memset(scratch.data(), byte, scratch.size() * sizeof(float));
    loops.forward({in, lse.data(), out.data(), nullptr, kSize, scratch.data()});
    std::memset(scratch.data(), byte, scratch.size() * sizeof(float));
    loops.backward({in, lse.data(), dout.data(), kSize, dqkv.data(), dqkv.data() + kSize,
                    dqkv.data() + 2 * kSize, nullptr, nullptr, nullptr, scratch.data()});
    out.insert(out.end(), dqkv.begin(), dqkv.end());
    return out;
  };
  ExpectSameBits(run(0xff), run(0), "results");  // all bits set: NaN
}

TEST_P(AttentionTest, NoSequencesAreNoWork) {
  Case c{{}};
  const Problem problem(c);
  problem.Run(ctx_);  // the guards show that nothing is written
}

TEST_P(AttentionTest, Bf16ResultsAreTheRoundedFloats) {
  Case c{{50, 3}};
  c.dropout = 0.1f;
  for (const bool bf16_in : {false, true}) {
    c.bf16_in = bf16_in;
    c.bf16_out = false;
    const Problem exact(c);
    c.bf16_out = true;
    const Problem rounded(c);
    exact.Run(ctx_);
    rounded.Run(ctx_);
    ExpectRounded(rounded.out_bf16.span(), exact.out.span(), c.Name() + " out");
    ExpectRounded(rounded.dqkv_bf16.span(), exact.dqkv.span(), c.Name() + " dqkv");
  }
}

TEST_P(AttentionTest, AlsoGivesItsOutputWhereNothingIsKept) {
  const Case c{{50, 3}};
  const Problem kept(c);
  Problem not_kept(c);
  not_kept.forward.log_sum_exp = nullptr;
  AttentionForward(ctx_, kept.forward);
  AttentionForward(ctx_, not_kept.forward);
  ExpectSameBits(not_kept.out.span(), kept.out.span(), "out");
  EXPECT_TRUE(std::isnan(not_kept.log_sum_exp[0]));
}

TEST_P(AttentionTest, ASingleTokenAttendsToItself) {
  const Case c{{1, 1}};
  const Problem problem(c);
  problem.Run(ctx_);
  for (int64_t t = 0; t < problem.tokens; ++t) {
    for (int64_t i = 0; i < problem.hidden; ++i) {
      const auto at = static_cast<size_t>(t * problem.hidden + i);
      const auto row = static_cast<size_t>(t * 3 * problem.hidden + i);
      const auto h = static_cast<size_t>(problem.hidden);
      EXPECT_FLOAT_EQ(problem.out[at], problem.qkv[row + 2 * h]);
      EXPECT_NEAR(problem.dqkv[row], 0.0f, 1e-5f);
      EXPECT_NEAR(problem.dqkv[row + h], 0.0f, 1e-5f);
      EXPECT_NEAR(problem.dqkv[row + 2 * h], problem.dout[at], 1e-5f);
    }
  }
}

TEST_P(AttentionTest, LargeScoresNeitherOverflowNorLoseTheSoftmax) {
  for (const bool bf16_in : {false, true}) {
    Case c{{49, 2}};
    c.bf16_in = bf16_in;
    c.dropout = 0.1f;
    c.query_size = 50.0f;
    ExpectLikeReference(c);
    c.query_size = 1e6f;
    const Problem problem(c);
    problem.Run(ctx_);
    for (const float x : problem.out.span()) ASSERT_TRUE(std::isfinite(x));
    for (const float x : problem.dqkv.span()) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST_P(AttentionTest, UsesTheTableOfTheLevel) {
  EXPECT_EQ(
      &AttentionLoopsFor(ctx_.isa),
      TableOfLevel(baseline::kAttentionLoops, avx2::kAttentionLoops, avx512::kAttentionLoops));
}

// Against the definition in double, apart from the plain loops.
TEST_P(AttentionTest, GradientsAreTheSlopesOfTheForwardPass) {
  for (const float dropout : {0.0f, 0.4f}) {
    Case c{{5, 3}};
    c.head_size = 4;
    c.dropout = dropout;
    const Problem problem(c);
    problem.Run(ctx_);
    const auto hidden = static_cast<size_t>(problem.hidden);
    const auto loss = [&](const std::vector<double>& qkv) {
      double sum = 0;
      for (size_t s = 0; s < c.lengths.size(); ++s) {
        const auto begin = static_cast<size_t>(problem.borders[s]);
        const auto length = static_cast<size_t>(c.lengths[s]);
        for (size_t head = 0; head < 2; ++head) {
          const auto at = [&](size_t part, size_t t, size_t i) {
            return qkv[(begin + t) * 3 * hidden + part * hidden + head * 4 + i];
          };
          for (size_t q = 0; q < length; ++q) {
            std::vector<double> e(length);
            double total = 0;
            for (size_t k = 0; k < length; ++k) {
              double score = 0;
              for (size_t i = 0; i < 4; ++i) score += at(0, q, i) * at(1, k, i);
              e[k] = std::exp(score / 2);  // sqrt(4)
              total += e[k];
            }
            for (size_t k = 0; k < length; ++k) {
              const float keep = DropoutFactor(problem.forward.shape.dropout, problem.samples[s],
                                               (head * length + q) * length + k);
              for (size_t i = 0; i < 4; ++i) {
                sum += e[k] / total * static_cast<double>(keep) * at(2, k, i) *
                       static_cast<double>(problem.dout[(begin + q) * hidden + head * 4 + i]);
              }
            }
          }
        }
      }
      return sum;
    };
    ExpectClose(
        problem.dqkv.span(), CentralDifferences(loss, Widened(problem.qkv.span())),
        [](size_t) { return 5e-6; }, c.Name());
  }
}

TEST_P(AttentionTest, ASequenceAloneIsWhatItIsInABatch) {
  for (const bool bf16_in : {false, true}) {
    Case c{{13, 49, 2}};
    c.dropout = 0.3f;
    c.bf16_in = bf16_in;
    const Problem batch(c);
    c.lengths = {49};
    c.first_sample += 1;
    Problem alone(c);
    const int64_t hidden = batch.hidden;
    const auto at = static_cast<size_t>(13 * hidden), size = static_cast<size_t>(49 * hidden);
    std::copy_n(batch.qkv.span().begin() + 13 * 3 * hidden, 3 * size, alone.qkv.data());
    std::copy_n(batch.qkv_bf16.span().begin() + 13 * 3 * hidden, 3 * size, alone.qkv_bf16.data());
    std::copy_n(batch.dout.span().begin() + 13 * hidden, size, alone.dout.data());
    batch.Run(ctx_);
    alone.Run(ctx_);
    ExpectSameBits(alone.out.span(), batch.out.span().subspan(at, size), "out");
    ExpectSameBits(alone.dqkv.span(), batch.dqkv.span().subspan(3 * at, 3 * size), "dqkv");
  }
}

TEST_P(AttentionTest, BitsDoNotDependOnThreads) {
  for (const bool bf16_in : {false, true}) {
    Case c{{49, 1, 30, 64, 5}};
    c.dropout = 0.1f;
    c.bf16_in = bf16_in;
    const Problem one(c);
    one.Run(WithThreads(1));
    for (const int threads : {2, 3, 4}) {
      const Problem many(c);
      many.Run(WithThreads(threads));
      const std::string what = std::to_string(threads) + " threads";
      ExpectSameBits(many.out.span(), one.out.span(), what);
      ExpectSameBits(many.log_sum_exp.span(), one.log_sum_exp.span(), what);
      ExpectSameBits(many.dqkv.span(), one.dqkv.span(), what);
    }
  }
}

}  // namespace
}  // namespace hagane::kernels
