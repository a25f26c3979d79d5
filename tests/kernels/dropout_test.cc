#include "kernels/dropout.h"

#include "kernels/dropout_loops.h"
#include "kernels/dropout_mask.h"
#include "tests/kernels/level_test.h"

namespace hagane::kernels {
namespace {

// The known answers that Random123 publishes for Philox4x32-10.
struct KnownAnswer {
  uint32_t counter[4], key[2], words[4];
};
constexpr KnownAnswer kKnownAnswers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};

TEST(DropoutWord, GivesTheKnownAnswersOfPhilox) {
  for (const KnownAnswer& known : kKnownAnswers) {
    DropoutSpec spec;
    spec.seed = static_cast<uint64_t>(known.key[1]) << 32 | known.key[0];
    spec.step = known.counter[1];
    spec.layer = known.counter[3] >> 8;
    spec.site = static_cast<DropoutSite>(known.counter[3] & 0xff);
    for (uint64_t k = 0; k < 4; ++k) {
      EXPECT_EQ(DropoutWord(spec, known.counter[2], uint64_t{known.counter[0]} * 4 + k),
                known.words[k]);
    }
  }
}

TEST(DropoutWord, DependsOnEveryCoordinate) {
  const DropoutSpec spec = SomeDropout(0.1f);
  const uint32_t word = DropoutWord(spec, 1, 0);
  const auto with = [&](auto change) {
    DropoutSpec other = spec;
    change(other);
    return DropoutWord(other, 1, 0);
  };
  EXPECT_NE(word, with([](DropoutSpec& s) { s.seed += 1; }));
  EXPECT_NE(word, with([](DropoutSpec& s) { s.seed += uint64_t{1} << 32; }));
  EXPECT_NE(word, with([](DropoutSpec& s) { s.step += 1; }));
  EXPECT_NE(word, with([](DropoutSpec& s) { s.layer += 1; }));
  EXPECT_NE(word, with([](DropoutSpec& s) { s.site = DropoutSite::kHeadInput; }));
  EXPECT_NE(word, DropoutWord(spec, 2, 0));
  for (uint64_t element = 1; element < 6; ++element) EXPECT_NE(word, DropoutWord(spec, 1, element));
}

class DropoutTest : public LevelTest {
 protected:
  std::vector<float> Mask(const MaskKey& key, uint64_t first, int64_t size) const {
    Guarded<float> mask(size + kMaskSlack, 1);
    DropoutLoopsFor(GetParam()).mask_row(key, first, size, mask.data());
    return {mask.data(), mask.data() + size};
  }
};
HAGANE_TEST_EVERY_LEVEL(DropoutTest);

TEST_P(DropoutTest, UsesTheTableOfTheLevel) {
  EXPECT_EQ(&DropoutLoopsFor(ctx_.isa),
            TableOfLevel(baseline::kDropoutLoops, avx2::kDropoutLoops, avx512::kDropoutLoops));
}

// A word is the largest threshold at which its element is kept.
TEST_P(DropoutTest, VectorsGiveTheKnownAnswersOfPhilox) {
  for (const KnownAnswer& known : kKnownAnswers) {
    for (size_t k = 0; k < 4; ++k) {
      MaskKey key = {
          known.key[0],   known.key[1], known.counter[1], known.counter[2], known.counter[3],
          known.words[k], 1.25f};
      const uint64_t first = uint64_t{known.counter[0]} * 4;
      EXPECT_EQ(Mask(key, first, 4)[k], 1.25f) << k;
      key.threshold += 1;
      EXPECT_EQ(Mask(key, first, 4)[k], 0.0f) << k;
    }
  }
}

TEST_P(DropoutTest, MasksAreThoseOfThePlainLoop) {
  const DropoutSpec spec = SomeDropout(0.3f);
  for (const uint64_t first : {uint64_t{0}, uint64_t{4}, uint64_t{76}, uint64_t{1} << 31,
                               (uint64_t{1} << 34) - 8}) {  // the counter turns over inside
    for (int64_t size = 0; size <= 133; ++size) {
      const std::vector<float> mask = Mask(MakeMaskKey(spec, 9), first, size);
      for (int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(mask[static_cast<size_t>(i)],
                  DropoutFactor(spec, 9, first + static_cast<uint64_t>(i)))
            << first << " + " << i << " of " << size;
      }
    }
  }
}

TEST_P(DropoutTest, RowsAreThoseOfThePlainLoop) {
  for (const float p : {0.0f, 0.1f, 0.5f}) {
    const DropoutSpec spec = SomeDropout(p);
    for (const int64_t rows : {0, 1, 31, 32, 33, 100}) {
      for (const int64_t width : {4, 20, 60, 64, 68, 384}) {
        const std::string what = std::to_string(rows) + "x" + std::to_string(width);
        const TokenKeys keys({rows / 3, rows - rows / 3});
        const std::vector<float> x = RandomValues(rows * width, 1);
        std::vector<float> want = x;
        for (int64_t i = 0; i < rows * width; ++i) {
          const int64_t row = i / width;
          const auto element = static_cast<uint64_t>(keys.View().token[row] * width + i % width);
          want[static_cast<size_t>(i)] *= DropoutFactor(spec, keys.View().sample[row], element);
        }
        Guarded<float> in(x, 1), out(rows * width, 3);
        Guarded<bf16> out_bf16(rows * width, 1);
        Dropout(ctx_, spec, keys.View(), rows, width, in.data(), out.data(), out_bf16.data());
        ExpectSameBits(out.span(), want, what);
        ExpectRounded(out_bf16.span(), out.span(), what);
        ExpectSameBits(in.span(), x, what + " input");
        Dropout(ctx_, spec, keys.View(), rows, width, in.data(), in.data(), nullptr);
        ExpectSameBits(in.span(), want, what + " in place");
      }
    }
  }
}

TEST_P(DropoutTest, OffItCopiesAndNeedsNoKeys) {
  const std::vector<float> x = RandomValues(33 * 20, 2);
  Guarded<float> in(x), out(33 * 20);
  Dropout(ctx_, DropoutSpec{}, RowKeys{}, 33, 20, in.data(), out.data(), nullptr);
  ExpectSameBits(out.span(), x, "copy");
}

// Six standard deviations of the count.
TEST_P(DropoutTest, KeepsTheShareItShould) {
  constexpr int64_t kSize = 1 << 18;
  for (const float p : {0.05f, 0.1f, 0.5f, 0.9f}) {
    const DropoutSpec spec = SomeDropout(p);
    const std::vector<float> mask = Mask(MakeMaskKey(spec, 1), 0, kSize);
    int64_t kept = 0;
    for (const float factor : mask) {
      ASSERT_TRUE(factor == 0.0f || factor == 1.0f / (1.0f - p)) << factor;
      kept += factor != 0.0f;
    }
    const double keep = 1.0 - static_cast<double>(p);
    EXPECT_NEAR(static_cast<double>(kept), keep * kSize,
                6 * std::sqrt(keep * static_cast<double>(p) * kSize));
  }
}

TEST_P(DropoutTest, ASequenceAloneHasTheMaskItHasInABatch) {
  constexpr int64_t kWidth = 20;
  const DropoutSpec spec = SomeDropout(0.4f);
  const std::vector<float> ones(54 * kWidth, 1.0f);
  const TokenKeys batch({13, 1, 40}, 2), alone({40}, 2 + 14);
  Guarded<float> in(ones), in_batch(54 * kWidth), by_itself(40 * kWidth);
  Dropout(ctx_, spec, batch.View(), 54, kWidth, in.data(), in_batch.data(), nullptr);
  Dropout(ctx_, spec, alone.View(), 40, kWidth, in.data(), by_itself.data(), nullptr);
  ExpectSameBits(by_itself.span(), in_batch.span().subspan(14 * kWidth), "third sequence");
}

TEST_P(DropoutTest, ForwardAndBackwardDrawOneMask) {
  constexpr int64_t kSize = 50 * 68;
  const DropoutSpec spec = SomeDropout(0.5f);
  const TokenKeys keys({50});
  Guarded<float> x(std::vector<float>(kSize, 2.0f)), dy(std::vector<float>(kSize, 3.0f));
  Dropout(ctx_, spec, keys.View(), 50, 68, x.data(), x.data(), nullptr);
  Dropout(ctx_, spec, keys.View(), 50, 68, dy.data(), dy.data(), nullptr);
  for (size_t i = 0; i < kSize; ++i) ASSERT_EQ(x[i] == 0.0f, dy[i] == 0.0f) << i;
}

TEST_P(DropoutTest, BitsDoNotDependOnThreads) {
  const DropoutSpec spec = SomeDropout(0.1f);
  const TokenKeys keys({60, 73});
  const std::vector<float> x = RandomValues(133 * 64, 4);
  Guarded<float> in(x), one(133 * 64);
  Dropout(WithThreads(1), spec, keys.View(), 133, 64, in.data(), one.data(), nullptr);
  for (const int threads : {2, 3, 4}) {
    Guarded<float> many(133 * 64);
    Dropout(WithThreads(threads), spec, keys.View(), 133, 64, in.data(), many.data(), nullptr);
    ExpectSameBits(many.span(), one.span(), std::to_string(threads) + " threads");
  }
}

}  // namespace
}  // namespace hagane::kernels
