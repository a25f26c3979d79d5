// Shared by the tests of kernels that exist once per instruction-set level: the levels as test
// parameters, buffers with guards, and comparisons that show their worst cell.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bf16.h"
#include "base/run_context.h"
#include "kernels/dropout.h"

namespace hagane::kernels {

constexpr double kFloatEpsilon = std::numeric_limits<float>::epsilon();

// Runs once for each level, which is in the test's name; skips those that this CPU lacks.
class LevelTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    static const CpuFeatures cpu = DetectCpu();
    if (GetParam() > cpu.best) GTEST_SKIP() << "this CPU lacks " << IsaName(GetParam());
    ctx_.cpu = cpu;
    ctx_.isa = GetParam();
    ctx_.log = &log_;
  }
  RunContext WithThreads(int threads) const {
    RunContext ctx = ctx_;
    ctx.threads = threads;
    return ctx;
  }
  template <class Table>
  const Table* TableOfLevel(const Table& baseline, const Table& avx2, const Table& avx512) const {
    return GetParam() == Isa::kReference ? &baseline : GetParam() == Isa::kAvx2 ? &avx2 : &avx512;
  }

  NullLog log_;
  RunContext ctx_;
};

inline std::string NameOfLevel(const testing::TestParamInfo<Isa>& info) {
  return std::string(IsaName(info.param));
}

#define HAGANE_TEST_EVERY_LEVEL(suite) \
  INSTANTIATE_TEST_SUITE_P(            \
      Level, suite, testing::Values(Isa::kReference, Isa::kAvx2, Isa::kAvx512), NameOfLevel)

// `size` elements that start `offset` elements past a cache line. They and the guards on both sides
// begin as NaN; the guards must still be so at the end.
template <class T>
class Guarded {
 public:
  explicit Guarded(int64_t size, int64_t offset = 0)
      : size_(static_cast<size_t>(size)),
        start_(kGuards + static_cast<size_t>(offset)),
        memory_(start_ + size_ + kGuards) {
    std::memset(memory_.data(), 0xff, memory_.size() * sizeof(T));
  }
  explicit Guarded(const std::vector<T>& values, int64_t offset = 0)
      : Guarded(static_cast<int64_t>(values.size()), offset) {
    std::copy(values.begin(), values.end(), data());
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() {
    for (size_t i = 0; i < start_; ++i) ExpectUntouched(i);
    for (size_t i = start_ + size_; i < memory_.size(); ++i) ExpectUntouched(i);
  }

  T* data() { return memory_.data() + start_; }
  std::span<const T> span() const { return {memory_.data() + start_, size_}; }
  T operator[](size_t i) const { return memory_[start_ + i]; }

 private:
  static constexpr size_t kGuards = 64;

  void ExpectUntouched(size_t i) const {
    unsigned char bytes[sizeof(T)], untouched[sizeof(T)];
    std::memcpy(bytes, &memory_[i], sizeof(T));
    std::memset(untouched, 0xff, sizeof(T));
    EXPECT_EQ(std::memcmp(bytes, untouched, sizeof(T)), 0)
        << "guard " << static_cast<int64_t>(i) - static_cast<int64_t>(start_) << " of " << size_
        << " elements";
  }

  size_t size_, start_;
  AlignedBuffer<T> memory_;
};

// Uniform in [-size, size].
inline std::vector<float> RandomValues(int64_t count, unsigned seed, float size = 1.0f) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-size, size);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) x = uniform(random);
  return values;
}

inline std::vector<bf16> Rounded(std::span<const float> values) {
  std::vector<bf16> rounded;
  for (const float x : values) rounded.push_back(ToBf16(x));
  return rounded;
}

inline double MaxAbs(std::span<const float> values) {
  double largest = 0;
  for (const float x : values) largest = std::max(largest, std::abs(static_cast<double>(x)));
  return largest;
}

// |got - want| <= tolerance(i) for every i; says where that fails worst. Infinities and NaN must be
// the same.
template <class Got, class Want, class Tolerance>
void ExpectClose(const Got& got, const Want& want, Tolerance tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double worst = 0;
  size_t place = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const auto g = static_cast<double>(got[i]);
    const auto w = static_cast<double>(want[i]);
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    double error = std::abs(g - w) / tolerance(i);
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    if (error > worst) {
      worst = error;
      place = i;
    }
  }
  if (worst > 1.0) {
    ADD_FAILURE() << what << ", worst cell " << place << " of " << got.size() << ": " << got[place]
                  << ", wanted " << want[place] << " within " << tolerance(place);
  }
}

template <class Got, class Want>
void ExpectSameBits(const Got& got, const Want& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    static_assert(sizeof(got[0]) == sizeof(want[0]));
    const auto g = got[i];
    const auto w = want[i];
    ASSERT_EQ(std::memcmp(&g, &w, sizeof(g)), 0) << what << ", element " << i;
  }
}

inline void ExpectRounded(std::span<const bf16> got, std::span<const float> exact,
                          const std::string& what) {
  ExpectSameBits(got, Rounded(exact), what + " in bf16");
}

// The gradient of f at x.
template <class Function>
std::vector<double> CentralDifferences(Function f, std::vector<double> x, double step = 1e-5) {
  std::vector<double> slopes;
  for (double& value : x) {
    const double here = value;
    value = here + step;
    const double above = f(x);
    value = here - step;
    slopes.push_back((above - f(x)) / (2 * step));
    value = here;
  }
  return slopes;
}

inline std::vector<double> Widened(std::span<const float> values) {
  return {values.begin(), values.end()};
}

// The keys of rows that are the tokens of sequences of these lengths; samples are `first_sample`,
// + 7, + 14 ...
class TokenKeys {
 public:
  explicit TokenKeys(const std::vector<int64_t>& lengths, uint32_t first_sample = 3) {
    for (const int64_t length : lengths) {
      for (int64_t t = 0; t < length; ++t) {
        sample_.push_back(first_sample);
        token_.push_back(static_cast<uint32_t>(t));
      }
      first_sample += 7;
    }
  }
  RowKeys View() const { return {sample_.data(), token_.data()}; }

 private:
  std::vector<uint32_t> sample_, token_;
};

inline DropoutSpec SomeDropout(float p, DropoutSite site = DropoutSite::kAttentionOutput) {
  DropoutSpec spec;
  spec.p = p;
  spec.seed = 0x0123456789abcdefull;
  spec.step = 17;
  spec.layer = 5;
  spec.site = site;
  return spec;
}

}  // namespace hagane::kernels
