#include "kernels/gemm.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/run_context.h"
#include "kernels/gemm_plan.h"

namespace hagane::kernels {
namespace {

// Of the whole binary: oneDNN keeps the level of its first use. CTest runs the binary once for each
// level, by HAGANE_ISA.
class GemmTest : public testing::Test {
 protected:
  void SetUp() override {
    static NullLog log;
    try {
      ctx_ = MakeRunContext("", 1, log);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  RunContext ctx_;
};

struct Case {
  int64_t m, n, k;
  bool a_transposed = false, b_transposed = false;
  bool bf16_in = false, bf16_out = false;
  bool bias = false, accumulate = false;
  int64_t padding = 0;  // of every leading dimension
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.m << "x" << c.n << "x" << c.k << (c.a_transposed ? " aT" : "")
             << (c.b_transposed ? " bT" : "") << (c.bf16_in ? " bf16 in" : "")
             << (c.bf16_out ? " bf16 out" : "") << (c.bias ? " bias" : "")
             << (c.accumulate ? " accumulate" : "") << " padding " << c.padding;
}

constexpr float kGuard = 12345.0f;
constexpr int64_t kGuardSize = 64;

// Operands and results of one case. What lies between the rows and behind the end is NaN in
// operands and kGuard in C.
class Problem {
 public:
  explicit Problem(const Case& c) : case_(c) {
    std::mt19937 random(static_cast<unsigned>(c.m * 131 + c.n * 17 + c.k));
    a_.Fill(c.a_transposed ? c.k : c.m, c.a_transposed ? c.m : c.k, c.padding, c.bf16_in, random);
    b_.Fill(c.b_transposed ? c.n : c.k, c.b_transposed ? c.k : c.n, c.padding, c.bf16_in, random);
    ldc_ = c.n + c.padding;
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    start_.assign(static_cast<size_t>(c.m * ldc_ + kGuardSize), kGuard);
    for (int64_t i = 0; i < c.m; ++i) {
      for (int64_t j = 0; j < c.n; ++j) start_[At(i, j)] = uniform(random);
    }
    bias_.resize(static_cast<size_t>(c.n));
    for (float& x : bias_) x = uniform(random);
  }

  // C after `product`, bf16 results widened.
  template <class Product>
  std::vector<float> Run(Product product) const {
    std::vector<float> c = start_;
    std::vector<bf16> c_bf16(c.size());
    for (size_t i = 0; i < c.size(); ++i) c_bf16[i] = ToBf16(c[i]);
    GemmArgs args;
    args.m = case_.m;
    args.n = case_.n;
    args.k = case_.k;
    args.a = a_.View(case_.a_transposed);
    args.b = b_.View(case_.b_transposed);
    args.ldc = ldc_;
    if (case_.bf16_out) {
      args.c_bf16 = c_bf16.data();
    } else {
      args.c = c.data();
    }
    if (case_.bias) args.bias = bias_.data();
    args.accumulate = case_.accumulate;
    product(args);
    if (case_.bf16_out) {
      for (size_t i = 0; i < c.size(); ++i) c[i] = ToFloat(c_bf16[i]);
    }
    return c;
  }

  // The largest |c - reference| / tolerance over all cells, with its place. The tolerance of a cell
  // is the rounding that sums of its terms may gather: by the norms of its row and column.
  void ExpectClose(const std::vector<float>& c, const std::vector<float>& reference) const {
    const double eps = std::numeric_limits<float>::epsilon();
    const double depth = std::sqrt(static_cast<double>(case_.k) + 1.0);
    const std::vector<double> rows = a_.Norms(!case_.a_transposed);
    const std::vector<double> cols = b_.Norms(case_.b_transposed);
    double worst = 0;
    std::string place;
    for (int64_t i = 0; i < case_.m; ++i) {
      for (int64_t j = 0; j < case_.n; ++j) {
        const double size = rows[static_cast<size_t>(i)] * cols[static_cast<size_t>(j)] + 2.0;
        double tolerance = 2 * eps * depth * size;
        if (case_.bf16_out) tolerance += std::abs(reference[At(i, j)]) / 128;  // one bf16 step
        const double error = std::abs(c[At(i, j)] - reference[At(i, j)]) / tolerance;
        if (!(error <= worst)) {
          worst = error;
          place = "worst cell (" + std::to_string(i) + ", " + std::to_string(j) +
                  "): " + std::to_string(c[At(i, j)]) + ", reference " +
                  std::to_string(reference[At(i, j)]);
          if (std::isnan(error)) break;
        }
      }
    }
    EXPECT_LE(worst, 1.0) << case_ << ", " << place;
  }

  void ExpectGuardsUntouched(const std::vector<float>& c) const {
    const float guard = case_.bf16_out ? ToFloat(ToBf16(kGuard)) : kGuard;
    for (int64_t i = 0; i < case_.m; ++i) {
      for (int64_t j = case_.n; j < ldc_; ++j) ASSERT_EQ(c[At(i, j)], guard) << case_;
    }
    for (size_t i = static_cast<size_t>(case_.m * ldc_); i < c.size(); ++i) {
      ASSERT_EQ(c[i], guard) << case_ << ", " << i << " behind the end";
    }
  }

 private:
  class Operand {
   public:
    void Fill(int64_t rows, int64_t width, int64_t padding, bool as_bf16, std::mt19937& random) {
      rows_ = rows;
      width_ = width;
      ld_ = width + padding;
      as_bf16_ = as_bf16;
      f32_.assign(static_cast<size_t>(rows * ld_), std::nanf(""));
      std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t col = 0; col < width; ++col) {
          f32_[static_cast<size_t>(row * ld_ + col)] = ToFloat(ToBf16(uniform(random)));
        }
      }
      for (const float x : f32_) b16_.push_back(ToBf16(x));
    }
    MatrixIn View(bool transposed) const {
      return {as_bf16_ ? nullptr : f32_.data(), as_bf16_ ? b16_.data() : nullptr, ld_, transposed};
    }
    // Of the stored rows, or of the columns.
    std::vector<double> Norms(bool of_rows) const {
      std::vector<double> norms(static_cast<size_t>(of_rows ? rows_ : width_), 0.0);
      for (int64_t row = 0; row < rows_; ++row) {
        for (int64_t col = 0; col < width_; ++col) {
          const double x = f32_[static_cast<size_t>(row * ld_ + col)];
          norms[static_cast<size_t>(of_rows ? row : col)] += x * x;
        }
      }
      for (double& norm : norms) norm = std::sqrt(norm);
      return norms;
    }

   private:
    int64_t rows_ = 0, width_ = 0, ld_ = 0;
    bool as_bf16_ = false;
    std::vector<float> f32_;
    std::vector<bf16> b16_;
  };

  size_t At(int64_t i, int64_t j) const { return static_cast<size_t>(i * ldc_ + j); }

  Case case_;
  Operand a_, b_;
  int64_t ldc_ = 0;
  std::vector<float> start_, bias_;
};

void ExpectLikeReference(const RunContext& ctx, const Case& c) {
  const Problem problem(c);
  const auto result = problem.Run([&](const GemmArgs& args) { Gemm(ctx, args); });
  problem.ExpectClose(result, problem.Run(GemmReference));
  problem.ExpectGuardsUntouched(result);
}

// Every combination of orientations, types and options for one size.
void ExpectLikeReferenceEveryWay(const RunContext& ctx, int64_t m, int64_t n, int64_t k) {
  for (int bits = 0; bits < 128; ++bits) {
    Case c{m, n, k};
    c.a_transposed = (bits & 1) != 0;
    c.b_transposed = (bits & 2) != 0;
    c.bf16_in = (bits & 4) != 0;
    c.bf16_out = (bits & 8) != 0;
    c.bias = (bits & 16) != 0;
    c.accumulate = (bits & 32) != 0;
    c.padding = (bits & 64) != 0 ? 5 : 0;
    if (c.bf16_out && c.accumulate) continue;
    ExpectLikeReference(ctx, c);
  }
}

TEST_F(GemmTest, SmallAndOddSizesAgreeWithTheReferenceEveryWay) {
  for (const int64_t m : {1, 2, 17}) {
    for (const int64_t n : {1, 2, 33}) {
      for (const int64_t k : {1, 3, 64}) ExpectLikeReferenceEveryWay(ctx_, m, n, k);
    }
  }
}

TEST_F(GemmTest, EverySizeAroundAVectorAgrees) {
  for (int64_t size = 1; size <= 34; ++size) {
    ExpectLikeReference(ctx_, {size, 5, 7});
    ExpectLikeReference(ctx_, {5, size, 7, false, true});
    ExpectLikeReference(ctx_, {5, 7, size, true, false});
  }
}

TEST_F(GemmTest, ProductsOfSeveralBlocksAgreeEveryWay) {
  ExpectLikeReferenceEveryWay(ctx_, 389, 40, 33);
  ExpectLikeReferenceEveryWay(ctx_, 24, 40, 1100);  // as weight gradients: parts of k
}

TEST_F(GemmTest, BlocksOfTrainingSizesAgree) {
  for (const bool bf16_in : {false, true}) {
    ExpectLikeReference(ctx_, {1701, 1152, 20, false, true, bf16_in, false, true});
    ExpectLikeReference(ctx_, {1701, 384, 24, false, false, bf16_in, bf16_in});
    ExpectLikeReference(ctx_, {2304, 768, 30, true, false, bf16_in, false, false, true});
  }
}

TEST_F(GemmTest, HeadsOfFewRowsAndOutputsAgree) {
  for (const int64_t rows : {1, 2, 8, 32}) {
    ExpectLikeReference(ctx_, {rows, 2, 384, false, true, false, false, true});
    ExpectLikeReference(ctx_, {rows, 384, 2});
    ExpectLikeReference(ctx_, {2, 384, rows, true, false, false, false, false, true});
  }
}

TEST_F(GemmTest, NothingToMultiplyLeavesTheBiasOrWhatWasThere) {
  for (const bool bias : {false, true}) {
    for (const bool accumulate : {false, true}) {
      Case c{3, 5, 0};
      c.bias = bias;
      c.accumulate = accumulate;
      ExpectLikeReference(ctx_, c);
    }
  }
  ExpectLikeReference(ctx_, {0, 5, 4});
  ExpectLikeReference(ctx_, {3, 0, 4});
}

TEST_F(GemmTest, BitsDoNotDependOnThreads) {
  std::vector<Case> cases = {{1701, 1152, 64, false, true},
                             {500, 384, 100},
                             {450, 96, 1100, true},
                             {2304, 768, 40, true, false, false, false, false, true}};
  for (size_t i = 0, n = cases.size(); i < n; ++i) {
    cases.push_back(cases[i]);
    cases.back().bf16_in = true;
  }
  for (const Case& c : cases) {
    const Problem problem(c);
    const auto run = [&](int threads) {
      RunContext ctx = ctx_;
      ctx.threads = threads;
      return problem.Run([&](const GemmArgs& args) { Gemm(ctx, args); });
    };
    const std::vector<float> one = run(1);
    for (const int threads : {2, 3, 4}) {
      const std::vector<float> many = run(threads);
      EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(float)), 0)
          << c << ", " << threads << " threads";
    }
    // Whatever OpenMP would take by itself must not reach oneDNN.
    const int before = omp_get_max_threads();
    omp_set_num_threads(3);
    const std::vector<float> other = run(1);
    EXPECT_EQ(omp_get_max_threads(), 3);
    omp_set_num_threads(before);
    EXPECT_EQ(std::memcmp(one.data(), other.data(), one.size() * sizeof(float)), 0) << c;
  }
}

TEST_F(GemmTest, MoreShapesThanAreKeptAgree) {
  for (int64_t m = 1; m <= 1100; ++m) ExpectLikeReference(ctx_, {m, 3, 2});
  ExpectLikeReference(ctx_, {1, 3, 2});
}

TEST_F(GemmTest, TheDescriptionTellsStorageFromCompute) {
  EXPECT_STRNE(GemmDescription(ctx_, false), GemmDescription(ctx_, true));
}

TEST(PlanGemm, BlocksCoverTheProductOnceWithoutEmptyOnes) {
  for (const int64_t m : {1, 15, 400, 985, 1700, 6000}) {
    for (const int64_t n : {1, 100, 384, 1152, 3072, 30522}) {
      for (const int64_t k : {1, 384, 1700}) {
        for (const bool transposed : {false, true}) {
          const GemmPlan plan = PlanGemm(m, n, k, {.a_transposed = transposed});
          const auto covers = [](int64_t size, int64_t block, int64_t blocks) {
            return block > 0 && (blocks - 1) * block < size && size <= blocks * block;
          };
          EXPECT_TRUE(covers(m, plan.m_block, plan.m_blocks)) << m << " " << n << " " << k;
          EXPECT_TRUE(covers(n, plan.n_block, plan.n_blocks)) << m << " " << n << " " << k;
          EXPECT_TRUE(covers(k, plan.k_block, plan.k_blocks)) << m << " " << n << " " << k;
        }
      }
    }
  }
}

TEST(PlanGemm, OnlyWeightGradientsThatMayAreSplitAlongK) {
  EXPECT_GT(PlanGemm(384, 384, 1700, {.a_transposed = true}).k_blocks, 1);
  EXPECT_EQ(PlanGemm(384, 384, 1700, {.a_transposed = true, .may_split_k = false}).k_blocks, 1);
  EXPECT_EQ(PlanGemm(384, 384, 1700, {.a_transposed = false}).k_blocks, 1);
}

TEST(PlanGemm, TrainingShapesKeepFourThreadsBusy) {
  for (const int64_t hidden : {384, 768}) {
    for (const int64_t width : {1, 3, 4}) {
      EXPECT_GE(PlanGemm(1700, width * hidden, hidden, {}).blocks(), 4);
      EXPECT_GE(PlanGemm(1700, hidden, width * hidden, {}).blocks(), 4);
      EXPECT_GE(PlanGemm(width * hidden, hidden, 1700, {.a_transposed = true}).blocks(), 4);
    }
  }
}

}  // namespace
}  // namespace hagane::kernels
