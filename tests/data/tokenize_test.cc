#include "data/tokenize.h"

#include <atomic>
#include <stdexcept>

#include "base/run_context.h"
#include "data/interrupted.h"
#include "tests/data/test_files.h"

namespace hagane::data {
namespace {

// One token for each byte; counts its calls; cannot read "boom".
class ByteTokenizer : public text::Tokenizer {
 public:
  explicit ByteTokenizer(bool token_types, std::string fingerprint = "bytes") {
    vocab_size_ = 300;
    cls_id_ = 1;
    sep_id_ = 2;
    returns_token_types_ = token_types;
    fingerprint_ = std::move(fingerprint);
  }
  text::Tokens Tokenize(std::string_view text, bool) const override {
    ++calls;
    if (text == "boom") throw std::runtime_error("boom was read");
    text::Tokens tokens;
    for (const char c : text) tokens.ids.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  mutable std::atomic<int> calls = 0;
};

class TokenizeSplitTest : public ::testing::Test {
 protected:
  TokenizeSplitTest() {
    ctx_.log = &log_;
    ctx_.threads = 2;
    split_.name = "train";
    split_.has_labels = true;
    for (int i = 0; i < 1500; ++i) {
      split_.text_a.push_back(std::string(static_cast<size_t>(i % 7), 'a'));
      split_.text_b.push_back(std::to_string(i));
      split_.class_labels.push_back(i % 2);
    }
  }
  Features Tokenize(const TokenizeOptions& options) {
    return TokenizeSplit(ctx_, split_, labels_, tokenizer_, options);
  }
  TokenizeOptions Cached() const {
    TokenizeOptions options;
    options.cache_folder = folder_.path() / "cache";
    return options;
  }
  std::filesystem::path OnlyFile() const {
    const std::filesystem::directory_iterator files(folder_.path() / "cache");
    EXPECT_EQ(std::distance(begin(files), end(files)), 1);
    return std::filesystem::directory_iterator(folder_.path() / "cache")->path();
  }

  RunContext ctx_;
  KeptLog log_;
  TextSplit split_;
  LabelSpec labels_;
  ByteTokenizer tokenizer_{true};
  TemporaryFolder folder_;
};

void ExpectSame(const Features& a, const Features& b) {
  EXPECT_EQ(a.row_start, b.row_start);
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.segments, b.segments);
  EXPECT_EQ(a.class_labels, b.class_labels);
  EXPECT_EQ(a.float_labels, b.float_labels);
  EXPECT_EQ(a.problem, b.problem);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.has_labels, b.has_labels);
  EXPECT_EQ(a.truncated_rows, b.truncated_rows);
}

TEST_F(TokenizeSplitTest, RowsAreInFileOrderWithTypesAndLabels) {
  const Features features = Tokenize({});
  ASSERT_EQ(features.rows(), 1500);
  EXPECT_EQ(features.class_labels, split_.class_labels);
  for (const int64_t row : {0, 1, 255, 256, 1499}) {
    const auto begin = static_cast<size_t>(features.row_start[static_cast<size_t>(row)]);
    const auto length = static_cast<size_t>(features.length(row));
    const std::string &a = split_.text_a[static_cast<size_t>(row)],
                      &b = split_.text_b[static_cast<size_t>(row)];
    ASSERT_EQ(length, a.size() + b.size() + 3);
    std::string ids;
    for (size_t i = 0; i < length; ++i) ids += static_cast<char>(features.ids[begin + i]);
    EXPECT_EQ(ids, "\1" + a + "\2" + b + "\2");
    EXPECT_EQ(features.segments[begin + 1 + a.size()], 0);
    EXPECT_EQ(features.segments[begin + 2 + a.size()], 1);
  }
}

TEST_F(TokenizeSplitTest, ThreadsDoNotChangeTheResult) {
  const Features two = Tokenize({});
  ctx_.threads = 1;
  ExpectSame(Tokenize({}), two);
}

TEST_F(TokenizeSplitTest, ModelsWithoutTokenTypesGetNoSegments) {
  const ByteTokenizer plain(false);
  EXPECT_TRUE(TokenizeSplit(ctx_, split_, labels_, plain, {}).segments.empty());
}

TEST_F(TokenizeSplitTest, CutRowsAreCounted) {
  TokenizeOptions options;
  options.max_length = 9;
  const Features features = Tokenize(options);
  int64_t longer = 0;
  for (size_t i = 0; i < 1500; ++i)
    longer += split_.text_a[i].size() + split_.text_b[i].size() + 3 > 9;
  EXPECT_EQ(features.truncated_rows, longer);
  for (int64_t row = 0; row < features.rows(); ++row) ASSERT_LE(features.length(row), 9);
}

TEST_F(TokenizeSplitTest, AnExceptionOfAnyThreadComesOut) {
  split_.text_a[1100] = "boom";
  EXPECT_THROW(Tokenize({}), std::runtime_error);
}

TEST_F(TokenizeSplitTest, TheLoopCanBeStoppedAndLeavesNoCacheFile) {
  TokenizeOptions options = Cached();
  std::atomic<int> asked = 0;
  ctx_.stop_requested = [&] { return ++asked > 2; };
  EXPECT_THROW(Tokenize(options), Interrupted);
  EXPECT_LT(tokenizer_.calls, 3000);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "cache"));
}

TEST_F(TokenizeSplitTest, ProgressEndsWithAllRows) {
  TokenizeOptions options;
  int64_t last = -1;
  bool rising = true;
  options.progress = [&](int64_t done, int64_t rows) {
    rising = rising && done >= last && rows == 1500;
    last = done;
  };
  Tokenize(options);
  EXPECT_TRUE(rising);
  EXPECT_EQ(last, 1500);
}

TEST_F(TokenizeSplitTest, ASecondRunReadsTheCache) {
  const Features first = Tokenize(Cached());
  tokenizer_.calls = 0;
  ExpectSame(Tokenize(Cached()), first);
  EXPECT_EQ(tokenizer_.calls, 0);
  OnlyFile();
  TokenizeOptions options = Cached();
  options.overwrite_cache = true;
  ExpectSame(Tokenize(options), first);
  EXPECT_EQ(tokenizer_.calls, 3000);
}

TEST_F(TokenizeSplitTest, WhatDecidesTheFeaturesDecidesTheCacheFile) {
  const auto misses = [&](const text::Tokenizer& tokenizer, int max_length) {
    const auto count = [&] {
      const std::filesystem::directory_iterator files(folder_.path() / "cache");
      return std::distance(begin(files), end(files));
    };
    const auto before = count();
    TokenizeOptions options = Cached();
    options.max_length = max_length;
    TokenizeSplit(ctx_, split_, labels_, tokenizer, options);
    return count() > before;
  };
  Tokenize(Cached());
  EXPECT_FALSE(misses(tokenizer_, 128));
  EXPECT_TRUE(misses(tokenizer_, 127));
  EXPECT_TRUE(misses(ByteTokenizer(true, "other"), 128));
  split_.class_labels[3] ^= 1;
  EXPECT_TRUE(misses(tokenizer_, 128));
  split_.text_a[8] = "a1", split_.text_a[9] = "";
  EXPECT_TRUE(misses(tokenizer_, 128));
  split_.text_a[8] = "a", split_.text_a[9] = "1";
  EXPECT_TRUE(misses(tokenizer_, 128));
}

TEST_F(TokenizeSplitTest, ADamagedCacheFileIsMadeAnewWithAWarning) {
  const Features first = Tokenize(Cached());
  const std::filesystem::path file = OnlyFile();
  std::ifstream in(file, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  const auto write = [&](const std::string& content) {
    std::ofstream(file, std::ios::binary) << content;
  };
  std::vector<std::string> damaged = {"", whole.substr(0, 50), whole.substr(0, whole.size() - 1),
                                      whole + "x"};
  for (size_t i = 0; i < whole.size(); i += i < 144 ? 1 : 9973) {
    damaged.push_back(whole);
    damaged.back()[i] ^= 0x10;
  }
  for (const std::string& content : damaged) {
    write(content);
    log_.warnings.clear();
    tokenizer_.calls = 0;
    ExpectSame(Tokenize(Cached()), first);
    ASSERT_EQ(log_.warnings.size(), 1u);
    ASSERT_EQ(tokenizer_.calls, 3000);
  }
}

TEST_F(TokenizeSplitTest, ACacheThatCannotBeWrittenIsAWarning) {
  TokenizeOptions options;
  options.cache_folder = folder_.Write("a-file", "x") / "below";
  EXPECT_EQ(Tokenize(options).rows(), 1500);
  EXPECT_EQ(log_.warnings.size(), 1u);
}

TEST_F(TokenizeSplitTest, AnEmptySplitHasNoRows) {
  split_ = {};
  EXPECT_EQ(Tokenize(Cached()).rows(), 0);
  EXPECT_EQ(Tokenize(Cached()).row_start, std::vector<int64_t>{0});
}

}  // namespace
}  // namespace hagane::data
