#include "kernels/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/run_context.h"

namespace hagane::kernels {
namespace {

constexpr size_t kGuards = 64;
constexpr float kGuard = 12345.0f;

// Around the vectors of every level and around the pieces that threads take.
std::vector<int64_t> Sizes() {
  std::vector<int64_t> sizes;
  for (int64_t size = 0; size <= 65; ++size) sizes.push_back(size);
  for (int64_t size : {16383, 16384, 16385, 50001}) sizes.push_back(size);
  return sizes;
}

// Every kind of float: numbers, ties, denormals, infinities, NaN.
std::vector<float> Values(int64_t size) {
  std::vector<float> values(static_cast<size_t>(size));
  uint32_t bits = 0x12345678u;
  for (size_t i = 0; i < values.size(); ++i) {
    bits = bits * 1664525u + 1013904223u;
    switch (i % 8) {
      case 0:
        values[i] = std::bit_cast<float>((bits & 0xffff0000u) | 0x8000u);
        break;
      case 1:
        values[i] = std::bit_cast<float>(bits & 0x807fffffu);
        break;
      case 2:
        values[i] = std::bit_cast<float>(0x7f800000u | (bits & 0x80000001u));
        break;
      default:
        values[i] = std::bit_cast<float>(bits);
    }
  }
  return values;
}

// Runs `test` for every level that this CPU has, on 1 and 3 threads.
template <class Test>
void ForEveryLevel(Test test) {
  static NullLog log;
  RunContext ctx;
  ctx.cpu = DetectCpu();
  ctx.log = &log;
  for (const Isa isa : SupportedIsas(ctx.cpu)) {
    for (const int threads : {1, 3}) {
      ctx.isa = isa;
      ctx.threads = threads;
      SCOPED_TRACE(std::string(IsaName(isa)) + ", " + std::to_string(threads) + " threads");
      test(ctx);
    }
  }
}

TEST(Convert, RoundingGivesTheBitsOfTheScalarRuleAndStaysInside) {
  ForEveryLevel([](const RunContext& ctx) {
    for (const int64_t size : Sizes()) {
      const std::vector<float> x = Values(size);
      std::vector<bf16> y(x.size() + kGuards, hagane::ToBf16(kGuard));
      ToBf16(ctx, size, x.data(), y.data());
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(y[i].bits, hagane::ToBf16(x[i]).bits) << x[i] << " at " << i << " of " << size;
      }
      for (size_t i = x.size(); i < y.size(); ++i)
        ASSERT_EQ(ToFloat(y[i]), ToFloat(hagane::ToBf16(kGuard)));
    }
  });
}

TEST(Convert, WideningIsExactAndStaysInside) {
  ForEveryLevel([](const RunContext& ctx) {
    for (const int64_t size : Sizes()) {
      std::vector<bf16> x(static_cast<size_t>(size));
      for (size_t i = 0; i < x.size(); ++i) x[i].bits = static_cast<uint16_t>(i * 40503u);
      std::vector<float> y(x.size() + kGuards, kGuard);
      ToFloat32(ctx, size, x.data(), y.data());
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(ToFloat(x[i])));
      }
      for (size_t i = x.size(); i < y.size(); ++i) ASSERT_EQ(y[i], kGuard);
    }
  });
}

TEST(Convert, FillAndAddTouchTheirElementsOnly) {
  ForEveryLevel([](const RunContext& ctx) {
    for (const int64_t size : Sizes()) {
      std::vector<float> x(static_cast<size_t>(size)), y(x.size() + kGuards, kGuard);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.25f;
      Fill(ctx, size, 3.0f, y.data());
      for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 3.0f);
      Add(ctx, size, x.data(), y.data());
      for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 3.0f + x[i]);
      for (size_t i = x.size(); i < y.size(); ++i) ASSERT_EQ(y[i], kGuard);
    }
  });
}

}  // namespace
}  // namespace hagane::kernels
