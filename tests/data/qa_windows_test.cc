#include "data/qa_windows.h"

#include <atomic>

#include "data/code_points.h"
#include "data/interrupted.h"
#include "tests/data/test_files.h"

namespace hagane::data {
namespace {

using Ids = std::vector<int32_t>;
using Strings = std::vector<std::string>;

constexpr char kVocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nwho\n?\nthe\ncafe\n##s\n\u6771\n\u4EAC\n."
    "\na\nb\nc\nd\ne\nf\n"
    "g\nh\n";
constexpr int32_t kCls = 2, kSep = 3, kWho = 5;

class QaWindowsTest : public ::testing::Test {
 protected:
  QaWindowsTest() {
    ctx_.log = &log_;
    ctx_.threads = 2;
    folder_.Write("vocab.txt", kVocabulary);
    tokenizer_ = text::LoadTokenizer(folder_.path(), "bert", log_);
    options_.labels = true;
  }
  // A question "who" about `context`, answered by the first place of `answer`; "": no answer.
  QaExample& Add(const std::string& context, const std::string& answer,
                 const std::string& question = "who") {
    dataset_.contexts.push_back(context);
    QaExample example;
    example.id = std::string(1, static_cast<char>('a' + dataset_.examples.size()));
    example.question = question;
    example.context = static_cast<int32_t>(dataset_.contexts.size()) - 1;
    example.target = answer.empty() ? QaTarget::kNoAnswer : QaTarget::kSpan;
    if (!answer.empty()) {
      const CodePoints code_points(dataset_.contexts.back());
      example.target_begin = code_points.AtByte(context.find(answer));
      example.target_end = example.target_begin + static_cast<int64_t>(CodePoints(answer).size());
    }
    dataset_.examples.push_back(example);
    return dataset_.examples.back();
  }
  QaWindows Make() { return MakeQaWindows(ctx_, dataset_, *tokenizer_, options_); }
  // The part of the context in each window, as letters.
  Strings Parts(const QaWindows& windows) {
    static const std::string kLetters = "abcdefgh";
    Strings parts;
    for (int64_t row = 0; row < windows.features.rows(); ++row) {
      std::string part;
      for (auto i = windows.features.row_start[static_cast<size_t>(row)];
           i < windows.features.row_start[static_cast<size_t>(row) + 1]; ++i) {
        const int32_t id = windows.features.ids[static_cast<size_t>(i)];
        if (id >= 13) part += kLetters[static_cast<size_t>(id) - 13];
      }
      parts.push_back(part);
    }
    return parts;
  }
  // The text that the labels of the only window mean.
  std::string Labelled() {
    options_.labels = true;
    const QaWindows labels = Make();
    options_.labels = false;
    const QaWindows offsets = Make();
    EXPECT_EQ(labels.features.rows(), 1);
    const auto start = static_cast<size_t>(labels.features.start_labels[0]);
    const auto end = static_cast<size_t>(labels.features.end_labels[0]);
    EXPECT_LE(start, end);
    if (start == 0) return "[CLS]";
    const CodePoints context(dataset_.contexts[0]);
    return std::string(context.Slice(offsets.offsets[start].begin, offsets.offsets[end].end));
  }

  RunContext ctx_;
  KeptLog log_;
  TemporaryFolder folder_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  QaDataset dataset_;
  QaWindowOptions options_;
};

TEST_F(QaWindowsTest, AWindowIsQuestionAndContextInTheTemplate) {
  options_.labels = false;
  Add("the cafe", "cafe", "who?");
  const QaWindows windows = Make();
  EXPECT_EQ(windows.features.ids, (Ids{kCls, kWho, 6, kSep, 7, 8, kSep}));
  EXPECT_EQ(windows.features.segments, (std::vector<uint8_t>{0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(windows.features.problem, ProblemType::kSpan);
  EXPECT_EQ(windows.features.outputs, 2);
  EXPECT_FALSE(windows.features.has_labels);
  EXPECT_EQ(windows.offsets,
            (std::vector<text::Offset>{
                kNoOffset, kNoOffset, kNoOffset, kNoOffset, {0, 3}, {4, 8}, kNoOffset}));
}

TEST_F(QaWindowsTest, NeighboursOverlapByTheStrideAndTheLastEndsWithTheContext) {
  // 3 special tokens and 1 of the question leave 4 for the context.
  options_.max_length = 8;
  options_.doc_stride = 1;
  Add("a b c d", "");
  Add("a b c d e", "");
  Add("a b c d e f g", "");
  Add("a b c d e f g h", "");
  const QaWindows windows = Make();
  EXPECT_EQ(Parts(windows), (Strings{"abcd", "abcd", "de", "abcd", "defg", "abcd", "defg", "gh"}));
  EXPECT_EQ(windows.example, (Ids{0, 1, 1, 2, 2, 3, 3, 3}));
  options_.doc_stride = 3;
  EXPECT_EQ(Parts(Make()), (Strings{"abcd", "abcd", "bcde", "abcd", "bcde", "cdef", "defg", "abcd",
                                    "bcde", "cdef", "defg", "efgh"}));
  options_.doc_stride = 0;
  EXPECT_EQ(Parts(Make()), (Strings{"abcd", "abcd", "e", "abcd", "efg", "abcd", "efgh"}));
}

TEST_F(QaWindowsTest, QuestionsWithoutRoomGetNoWindowAndAreNamed) {
  options_.max_length = 8;
  options_.doc_stride = 4;                 // as many as there is room for
  Add("a b c d e", "");                    // a: needs a second window
  Add("a b c d", "");                      // b: does not
  Add("a", "", "who who who who who");     // c: no room at all
  Add("", "", "who who who who who");      // d: none needed
  Add("", "", "who who who who who who");  // e: not even without a context
  EXPECT_EQ(Make().example, (Ids{1, 3}));
  ASSERT_EQ(log_.warnings.size(), 1u);
  EXPECT_NE(log_.warnings[0].find("3 of 5 questions (a, c, e) leave no room"), std::string::npos);
  EXPECT_NE(log_.warnings[0].find("--max_seq_length 8 and --doc_stride 4"), std::string::npos);
  dataset_.examples.resize(1);
  ExpectError([&] { Make(); }, {"1 of 1 questions (a)", "raise --max_seq_length"});
}

TEST_F(QaWindowsTest, LabelsAreWhereTheWholeAnswerIs) {
  options_.max_length = 8;
  options_.doc_stride = 2;
  Add("a b c d e f", "c d");
  Add("a b c d e f", "d e");
  Add("a b c d e f", "");
  const QaWindows windows = Make();
  ASSERT_EQ(Parts(windows), (Strings{"abcd", "cdef", "abcd", "cdef", "abcd", "cdef"}));
  EXPECT_EQ(windows.features.start_labels, (Ids{5, 3, 0, 4, 0, 0}));
  EXPECT_EQ(windows.features.end_labels, (Ids{6, 4, 0, 5, 0, 0}));
  EXPECT_TRUE(windows.features.has_labels);
  EXPECT_TRUE(windows.offsets.empty());
}

TEST_F(QaWindowsTest, AnAnswerInTheLastTokenIsLabelledThere) {
  Add("a b c", "c");
  const QaWindows windows = Make();
  EXPECT_EQ(windows.features.start_labels, Ids{5});
  EXPECT_EQ(windows.features.end_labels, Ids{5});
}

TEST_F(QaWindowsTest, AnswersThatBeginOrEndWithinATokenTakeAllOfIt) {
  Add("the cafes a", "afes");
  EXPECT_EQ(Labelled(), "cafes");
}

TEST_F(QaWindowsTest, CombiningMarksBelongToTheirAnswer) {
  Add("the cafe\u0301s \u0301a", "cafe\u0301s");
  EXPECT_EQ(Labelled(), "cafe\u0301s");
}

TEST_F(QaWindowsTest, HanCharactersAreAnswersWithoutBlanks) {
  Add("a\u6771\u4EAC\u3002b", "\u4EAC");
  EXPECT_EQ(Labelled(), "\u4EAC");
}

TEST_F(QaWindowsTest, OffsetsBehindEmojiCountCodePoints) {
  Add("\U0001F600\U0001F468\u200D\U0001F469 a \U0001F680 b", "\U0001F680");
  EXPECT_EQ(Labelled(), "\U0001F680");
}

TEST_F(QaWindowsTest, UnusableExamplesAreEvaluatedButNotTrained) {
  Add("a b", "a").target = QaTarget::kUnusable;
  Add("a b", "a");
  EXPECT_EQ(Make().example, Ids{1});
  options_.labels = false;
  EXPECT_EQ(Make().example, (Ids{0, 1}));
  EXPECT_TRUE(log_.warnings.empty());
}

TEST_F(QaWindowsTest, OnlyTheFirstWindowsAreKept) {
  options_.max_length = 8;
  options_.doc_stride = 1;
  Add("a b c d e f g", "b");
  Add("a", "a");
  for (const bool labels : {true, false}) {
    options_.labels = labels;
    options_.max_windows = 1;
    const QaWindows windows = Make();
    EXPECT_EQ(Parts(windows), Strings{"abcd"});
    EXPECT_EQ(windows.features.ids.size(), 8u);
    EXPECT_EQ(windows.features.segments.size(), 8u);
    EXPECT_EQ(windows.features.start_labels.size(), labels ? 1u : 0u);
    EXPECT_EQ(windows.offsets.size(), labels ? 0u : 8u);
    options_.max_windows = 9;
    EXPECT_EQ(Make().features.rows(), 3);
  }
}

// The pieces of one character share its offset.
class PieceTokenizer : public text::Tokenizer {
 public:
  PieceTokenizer() { cls_id_ = 1, sep_id_ = 2, double_separator_ = true, pair_type_ids_ = false; }
  text::Tokens Tokenize(std::string_view text, bool) const override {
    if (text == "boom") throw std::runtime_error("boom was read");
    text::Tokens tokens;
    for (int32_t i = 0; i < static_cast<int32_t>(text.size()); ++i) {
      for (int piece = 0; piece < 3; ++piece) {
        tokens.ids.push_back(text[static_cast<size_t>(i)]);
        tokens.offsets.push_back({i, i + 1});
      }
    }
    return tokens;
  }
};

TEST_F(QaWindowsTest, AnAnswerOfOneCharacterInPiecesIsNotLabelledBackwards) {
  Add("ab", "b", "q");
  const QaWindows windows = MakeQaWindows(ctx_, dataset_, PieceTokenizer(), options_);
  EXPECT_EQ(windows.features.ids, (Ids{1, 'q', 'q', 'q', 2, 2, 'a', 'a', 'a', 'b', 'b', 'b', 2}));
  EXPECT_EQ(windows.features.segments, std::vector<uint8_t>(13, 0));
  EXPECT_EQ(windows.features.start_labels, Ids{9});
  EXPECT_EQ(windows.features.end_labels, Ids{11});
}

TEST_F(QaWindowsTest, TheLoopCanBeStoppedAndPassesExceptionsOn) {
  for (int i = 0; i < 1000; ++i) Add("a", "a");
  std::atomic<int> asked = 0;
  ctx_.stop_requested = [&] { return ++asked > 3; };
  EXPECT_THROW(Make(), Interrupted);
  ctx_.stop_requested = {};
  int64_t last = 0;
  options_.progress = [&](int64_t done, int64_t total) {
    EXPECT_EQ(total, 1000);
    EXPECT_GE(done, last);
    last = done;
  };
  EXPECT_EQ(Make().features.rows(), 1000);
  EXPECT_EQ(last, 1000);
  options_.progress = {};
  dataset_.examples[500].question = "boom";
  EXPECT_THROW(MakeQaWindows(ctx_, dataset_, PieceTokenizer(), options_), std::runtime_error);
}

void ExpectSame(const QaWindows& a, const QaWindows& b) {
  EXPECT_EQ(a.features.row_start, b.features.row_start);
  EXPECT_EQ(a.features.ids, b.features.ids);
  EXPECT_EQ(a.features.segments, b.features.segments);
  EXPECT_EQ(a.features.start_labels, b.features.start_labels);
  EXPECT_EQ(a.features.end_labels, b.features.end_labels);
  EXPECT_EQ(a.features.problem, b.features.problem);
  EXPECT_EQ(a.features.has_labels, b.features.has_labels);
  EXPECT_EQ(a.example, b.example);
  EXPECT_EQ(a.offsets, b.offsets);
}

TEST_F(QaWindowsTest, ThreadsDoNotChangeTheResultAndASecondRunReadsTheCache) {
  for (int i = 0; i < 300; ++i) Add(i % 3 == 0 ? "a b c d e f" : "the cafe", i % 2 ? "" : "e");
  options_.max_length = 8;
  options_.doc_stride = 1;
  for (const bool labels : {true, false}) {
    options_.labels = labels;
    options_.cache_folder.reset();
    const QaWindows two = Make();
    ctx_.threads = 1;
    ExpectSame(Make(), two);
    options_.cache_folder = folder_.path() / "cache";
    ExpectSame(Make(), two);
    log_.infos.clear();
    ExpectSame(Make(), two);
    ASSERT_EQ(log_.infos.size(), 1u);
    EXPECT_NE(log_.infos[0].find("tokens read from"), std::string::npos);
  }
}

TEST_F(QaWindowsTest, WhatDecidesTheWindowsDecidesTheCacheFile) {
  options_.cache_folder = folder_.path() / "cache";
  Add("a b c", "b");
  Add("the", "the");
  const auto is_new = [&] {
    log_.infos.clear();
    Make();
    return log_.infos.empty();
  };
  EXPECT_TRUE(is_new());
  EXPECT_FALSE(is_new());
  options_.max_length = 100;
  EXPECT_TRUE(is_new());
  options_.doc_stride = 7;
  EXPECT_TRUE(is_new());
  options_.labels = false;
  EXPECT_TRUE(is_new());
  dataset_.examples[0].target = QaTarget::kNoAnswer;  // decides labels only
  EXPECT_FALSE(is_new());
  options_.labels = true;
  EXPECT_TRUE(is_new());
  dataset_.examples[1].target_end = 2;
  EXPECT_TRUE(is_new());
  dataset_.examples[1].question = "who?";
  EXPECT_TRUE(is_new());
  dataset_.contexts[0] += "d";
  EXPECT_TRUE(is_new());
  options_.max_windows = 1;  // cut after reading
  EXPECT_FALSE(is_new());
  options_.overwrite_cache = true;
  EXPECT_TRUE(is_new());
}

TEST_F(QaWindowsTest, ADamagedCacheFileIsMadeAnewWithAWarning) {
  options_.cache_folder = folder_.path() / "cache";
  options_.labels = false;
  Add("a b c", "b");
  const QaWindows first = Make();
  const auto file = std::filesystem::directory_iterator(folder_.path() / "cache")->path();
  std::ifstream in(file, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 0x10;
    std::ofstream(file, std::ios::binary) << damaged;
    log_.warnings.clear();
    ExpectSame(Make(), first);
    ASSERT_EQ(log_.warnings.size(), 1u) << i;
  }
}

}  // namespace
}  // namespace hagane::data
