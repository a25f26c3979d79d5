#include "io/tensor_file.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tests/io/temporary_folder.h"

namespace hagane::io {
namespace {

template <class T>
TensorView View(DType dtype, const std::vector<T>& values) {
  return {dtype, {static_cast<int64_t>(values.size())}, std::as_bytes(std::span(values))};
}

template <class T>
std::vector<float> Floats(DType dtype, const std::vector<T>& values) {
  std::vector<float> out(values.size());
  CopyToFloat(View(dtype, values), out);
  return out;
}

// Every half against the definition of the format, in double arithmetic.
TEST(CopyToFloat, IsExactForEveryHalf) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  const std::vector<float> floats = Floats(DType::kF16, all);
  for (size_t i = 0; i < all.size(); ++i) {
    const int exponent = (static_cast<int>(i) >> 10) & 31, fraction = static_cast<int>(i) & 1023;
    const double sign = i & 0x8000 ? -1.0 : 1.0;
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(floats[i])) << i;
      continue;
    }
    const double expected = exponent == 31 ? sign * std::numeric_limits<double>::infinity()
                            : exponent == 0
                                ? sign * fraction * std::ldexp(1.0, -24)
                                : sign * (1024 + fraction) * std::ldexp(1.0, exponent - 25);
    ASSERT_EQ(static_cast<double>(floats[i]), expected) << i;
    ASSERT_EQ(std::signbit(floats[i]), sign < 0) << i;
  }
}

TEST(CopyToFloat, TakesBf16AsTheUpperHalfOfAFloat) {
  for (const float x : {1.5f, -0.0f, 0x1p-133f, std::numeric_limits<float>::infinity()}) {
    const auto upper = static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
    const std::vector<float> out = Floats<uint16_t>(DType::kBf16, {upper});
    EXPECT_EQ(std::bit_cast<uint32_t>(out[0]), uint32_t{upper} << 16);
  }
}

TEST(CopyToFloat, ReadsUnalignedValues) {
  std::vector<std::byte> bytes(13);
  const double value = 0.1;
  std::copy_n(std::as_bytes(std::span(&value, 1)).data(), 8, bytes.data() + 5);
  float out = 0;
  CopyToFloat({DType::kF64, {1}, std::span(bytes).subspan(5)}, std::span(&out, 1));
  EXPECT_EQ(out, 0.1f);
}

TEST(CopyToFloat, TakesIntegersThatFloatsHoldAndNoOthers) {
  EXPECT_EQ(Floats<int64_t>(DType::kI64, {0, -3, 1 << 24}), (std::vector<float>{0, -3, 0x1p24f}));
  EXPECT_EQ(Floats<int64_t>(DType::kI64, {INT64_MIN}), (std::vector<float>{-0x1p63f}));
  EXPECT_EQ(Floats<int8_t>(DType::kI8, {-128}), (std::vector<float>{-128}));
  EXPECT_EQ(Floats<uint8_t>(DType::kBool, {0, 1}), (std::vector<float>{0, 1}));
  EXPECT_TRUE(Contains(ErrorOf([] { Floats<int32_t>(DType::kI32, {(1 << 24) + 1}); }), "16777217"));
  EXPECT_NE(ErrorOf([] { Floats<int64_t>(DType::kI64, {INT64_MAX}); }), "");
  EXPECT_NE(ErrorOf([] { Floats<int64_t>(DType::kI64, {(int64_t{1} << 60) + 1}); }), "");
}

TEST(CopyToInt, WidensIntegersAndRefusesFloats) {
  EXPECT_EQ(CopyToInt(View<int16_t>(DType::kI16, {-5, 7}), "x"), (std::vector<int64_t>{-5, 7}));
  EXPECT_EQ(CopyToInt(View<uint8_t>(DType::kU8, {255}), "x"), (std::vector<int64_t>{255}));
  EXPECT_TRUE(Contains(ErrorOf([] { CopyToInt(View<float>(DType::kF32, {1}), "in.labels"); }),
                       "in.labels holds F32"));
}

TEST(ShapeText, JoinsSizes) {
  EXPECT_EQ(ShapeText(std::vector<int64_t>{3, 20}), "3x20");
  EXPECT_EQ(ShapeText({}), "scalar");
}

}  // namespace
}  // namespace hagane::io
