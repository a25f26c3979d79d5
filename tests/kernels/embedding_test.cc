#include "kernels/embedding.h"

#include "tests/kernels/level_test.h"

namespace hagane::kernels {
namespace {

constexpr int64_t kWords = 9, kPositions = 40, kSegments = 2;
constexpr int32_t kWordPad = 1, kPositionPad = 0;

// Few words, so that ids repeat; every pad row is met.
struct Problem {
  Problem(int64_t tokens, int64_t width, bool with_segments)
      : words(RandomValues(kWords * width, 1), 1),
        positions(RandomValues(kPositions * width, 2), 2),
        segments(RandomValues(kSegments * width, 3), 3),
        dout(RandomValues(tokens * width, 4), 1),
        dwords(RandomValues(kWords * width, 5), 2),
        dpositions(RandomValues(kPositions * width, 6), 3),
        dsegments(RandomValues(kSegments * width, 7), 1),
        out(tokens * width, 1),
        segmented(with_segments) {
    for (int64_t t = 0; t < tokens; ++t) {
      ids.push_back(static_cast<int32_t>(t * t % kWords));
      position_ids.push_back(static_cast<int32_t>(t % kPositions));
      segment_ids.push_back(static_cast<int32_t>(t % 3 == 0));
    }
    args.tokens = tokens;
    args.width = width;
    args.ids = ids.data();
    args.positions = position_ids.data();
    args.segments = with_segments ? segment_ids.data() : nullptr;
  }
  void Forward(const RunContext& ctx) {
    EmbeddingForward(ctx, args, words.data(), positions.data(),
                     segmented ? segments.data() : nullptr, out.data());
  }
  void Backward(const RunContext& ctx, int64_t word_pad, int64_t position_pad) {
    EmbeddingBackward(ctx, args, dout.data(), word_pad, position_pad, dwords.data(),
                      dpositions.data(), segmented ? dsegments.data() : nullptr);
  }

  Guarded<float> words, positions, segments, dout, dwords, dpositions, dsegments, out;
  bool segmented;
  std::vector<int32_t> ids, position_ids, segment_ids;
  EmbeddingArgs args;
};

class EmbeddingTest : public LevelTest {};
HAGANE_TEST_EVERY_LEVEL(EmbeddingTest);

const int64_t kTokens[] = {0, 1, 31, 32, 33, 100};
const int64_t kWidths[] = {0, 1, 7, 15, 16, 17, 33, 63, 64, 65, 130, 384};

TEST_P(EmbeddingTest, OutputsAreTheSumsOfTheirRows) {
  for (const int64_t tokens : kTokens) {
    for (const int64_t width : kWidths) {
      for (const bool segmented : {false, true}) {
        Problem problem(tokens, width, segmented);
        std::vector<double> want;
        for (int64_t t = 0; t < tokens; ++t) {
          const auto token = static_cast<size_t>(t);
          for (int64_t c = 0; c < width; ++c) {
            const auto at = [&](const Guarded<float>& table, int32_t row) {
              return static_cast<double>(table[static_cast<size_t>(row * width + c)]);
            };
            want.push_back(at(problem.words, problem.ids[token]) +
                           at(problem.positions, problem.position_ids[token]) +
                           (segmented ? at(problem.segments, problem.segment_ids[token]) : 0.0));
          }
        }
        problem.Forward(ctx_);
        ExpectClose(
            problem.out.span(), want, [](size_t) { return 3 * kFloatEpsilon; },
            std::to_string(tokens) + "x" + std::to_string(width));
      }
    }
  }
}

// To the bit, as additions come in token order; pad rows keep theirs.
TEST_P(EmbeddingTest, GradientsAreAddedTokenByTokenButNotToPadRows) {
  for (const int64_t tokens : kTokens) {
    for (const int64_t width : kWidths) {
      for (const bool segmented : {false, true}) {
        for (const bool pads : {false, true}) {
          Problem problem(tokens, width, segmented);
          const auto copy = [](const Guarded<float>& x) {
            return std::vector<float>(x.span().begin(), x.span().end());
          };
          std::vector<float> dwords = copy(problem.dwords), dpositions = copy(problem.dpositions),
                             dsegments = copy(problem.dsegments);
          for (int64_t t = 0; t < tokens; ++t) {
            const auto token = static_cast<size_t>(t);
            const int32_t id = problem.ids[token], position = problem.position_ids[token];
            for (int64_t c = 0; c < width; ++c) {
              const float slope = problem.dout[static_cast<size_t>(t * width + c)];
              const auto at = [&](int32_t row) { return static_cast<size_t>(row * width + c); };
              if (!pads || id != kWordPad) dwords[at(id)] += slope;
              if (!pads || position != kPositionPad) dpositions[at(position)] += slope;
              if (segmented) dsegments[at(problem.segment_ids[token])] += slope;
            }
          }
          problem.Backward(ctx_, pads ? kWordPad : -1, pads ? kPositionPad : -1);
          const std::string what = std::to_string(tokens) + "x" + std::to_string(width) +
                                   (segmented ? " segments" : "") + (pads ? " pads" : "");
          ExpectSameBits(problem.dwords.span(), dwords, what + " words");
          ExpectSameBits(problem.dpositions.span(), dpositions, what + " positions");
          ExpectSameBits(problem.dsegments.span(), dsegments, what + " segments");
        }
      }
    }
  }
}

TEST_P(EmbeddingTest, BitsDoNotDependOnThreads) {
  Problem one(133, 330, true);
  one.Forward(WithThreads(1));
  one.Backward(WithThreads(1), kWordPad, kPositionPad);
  for (const int threads : {2, 3, 4}) {
    Problem many(133, 330, true);
    many.Forward(WithThreads(threads));
    many.Backward(WithThreads(threads), kWordPad, kPositionPad);
    ExpectSameBits(many.out.span(), one.out.span(), "out");
    ExpectSameBits(many.dwords.span(), one.dwords.span(), "words");
    ExpectSameBits(many.dpositions.span(), one.dpositions.span(), "positions");
    ExpectSameBits(many.dsegments.span(), one.dsegments.span(), "segments");
  }
}

}  // namespace
}  // namespace hagane::kernels
