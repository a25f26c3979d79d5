#include "base/bf16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace hagane {
namespace {

bool IsNan(bf16 x) { return (x.bits & 0x7fff) > 0x7f80; }

TEST(Bf16, EveryValueComesBackFromFloat) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const bf16 x{static_cast<uint16_t>(bits)};
    if (IsNan(x)) {
      EXPECT_TRUE(std::isnan(ToFloat(x))) << bits;
      EXPECT_TRUE(IsNan(ToBf16(ToFloat(x)))) << bits;
    } else {
      ASSERT_EQ(ToBf16(ToFloat(x)).bits, bits);
    }
  }
}

// For each pair of neighbours: just below, on and just above the middle between them.
TEST(Bf16, RoundsToNearestAndTiesToEven) {
  for (uint32_t low = 0; low < 0x7f80; ++low) {
    const uint32_t middle = low << 16 | 0x8000u;
    const uint32_t even = low % 2 == 0 ? low : low + 1;
    for (const uint32_t sign : {0u, 0x8000u}) {
      const auto round = [sign](uint32_t bits) -> uint32_t {
        return ToBf16(std::bit_cast<float>(bits | sign << 16)).bits;
      };
      ASSERT_EQ(round(middle - 1), low | sign);
      ASSERT_EQ(round(middle), even | sign);
      ASSERT_EQ(round(middle + 1), (low + 1) | sign);
    }
  }
}

TEST(Bf16, InfinitiesStayAndLargeNumbersOverflowToThem) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(ToFloat(ToBf16(inf)), inf);
  EXPECT_EQ(ToFloat(ToBf16(-inf)), -inf);
  EXPECT_EQ(ToFloat(ToBf16(std::numeric_limits<float>::max())), inf);
}

// Truncating this one would leave an empty mantissa: an infinity.
TEST(Bf16, NanWithLowBitsOnlyStaysNan) {
  EXPECT_TRUE(IsNan(ToBf16(std::bit_cast<float>(0x7f800001u))));
  EXPECT_TRUE(IsNan(ToBf16(std::bit_cast<float>(0xffffffffu))));
}

}  // namespace
}  // namespace hagane
