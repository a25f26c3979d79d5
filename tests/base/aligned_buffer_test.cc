#include "base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace hagane {
namespace {

bool IsAligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 64 == 0; }

TEST(AlignedBuffer, EverySizeStartsOnACacheLineAndIsWritable) {
  for (const size_t size : {size_t{1}, size_t{15}, size_t{1000}, size_t{3} << 20}) {
    AlignedBuffer<float> buffer(size);
    ASSERT_EQ(buffer.size(), size);
    EXPECT_TRUE(IsAligned(buffer.data()));
    for (float& x : buffer) x = 1.0f;
    EXPECT_EQ(buffer[size - 1], 1.0f);
  }
}

TEST(AlignedBuffer, EmptyOnesHoldNothing) {
  const AlignedBuffer<float> never_sized;
  const AlignedBuffer<float> zero(0);
  EXPECT_TRUE(never_sized.empty());
  EXPECT_TRUE(zero.empty());
  EXPECT_EQ(zero.span().size(), 0u);
}

TEST(AlignedBuffer, ReserveKeepsMemoryAndContentsWhenItIsLargeEnough) {
  AlignedBuffer<int> buffer(100);
  buffer[7] = 42;
  const int* before = buffer.data();
  buffer.Reserve(50);
  EXPECT_EQ(buffer.data(), before);
  EXPECT_EQ(buffer[7], 42);
  buffer.Reserve(200);
  EXPECT_EQ(buffer.size(), 200u);
}

TEST(AlignedBuffer, MovingHandsTheMemoryOver) {
  AlignedBuffer<int> source(10);
  source[3] = 5;
  const int* memory = source.data();
  AlignedBuffer<int> target(std::move(source));
  EXPECT_EQ(target.data(), memory);
  EXPECT_EQ(target[3], 5);
}

TEST(AlignedBuffer, SizesThatOverflowAreRefused) {
  AlignedBuffer<double> buffer(4);
  EXPECT_THROW(buffer.Resize(SIZE_MAX / 4), std::bad_alloc);
  EXPECT_THROW(AllocateAligned(SIZE_MAX - 1), std::bad_alloc);
}

}  // namespace
}  // namespace hagane
