#include "data/delimited.h"

#include <random>

#include "tests/data/test_files.h"

namespace hagane::data {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows ReadAll(DelimitedReader reader) {
  Rows rows;
  while (reader.Next()) rows.emplace_back(reader.cells().begin(), reader.cells().end());
  return rows;
}

class Delimited : public ::testing::Test {
 protected:
  Rows Csv(std::string_view content) { return ReadAll({folder_.Write("a.csv", content), kCsv}); }
  Rows Tsv(std::string_view content) { return ReadAll({folder_.Write("a.tsv", content), kTsv}); }
  TemporaryFolder folder_;
};

TEST_F(Delimited, QuotedCellsHoldSeparatorsLineEndsAndDoubledQuotes) {
  EXPECT_EQ(Csv("a,\"b,c\"\n\"say \"\"no\"\"\",\"two\r\nlines\"\n"),
            (Rows{{"a", "b,c"}, {"say \"no\"", "two\r\nlines"}}));
  EXPECT_EQ(Csv("\"\",\"\"\"\"\n"), (Rows{{"", "\""}}));
}

TEST_F(Delimited, QuotesInsideAnUnquotedCellAndTextBehindAClosingQuoteStay) {
  EXPECT_EQ(Csv("9\" pipe,\"a\"b\n"), (Rows{{"9\" pipe", "ab"}}));
}

TEST_F(Delimited, TsvKnowsNoQuotes) {
  EXPECT_EQ(Tsv("\"a\tb\n\"\t\"\"\n"), (Rows{{"\"a", "b"}, {"\"", "\"\""}}));
}

TEST_F(Delimited, AnyLineEndAndAByteOrderMarkLeaveNoTrace) {
  const Rows expected{{"a", "b"}, {"1", "2"}};
  EXPECT_EQ(Csv("\xEF\xBB\xBF"
                "a,b\r\n1,2\r\n"),
            expected);
  EXPECT_EQ(Csv("a,b\r1,2"), expected);
  EXPECT_EQ(Tsv("\xEF\xBB\xBF"
                "a\tb\r\n1\t2"),
            expected);
}

TEST_F(Delimited, BlankRowsAreSkippedButNotEmptyCells) {
  EXPECT_EQ(Csv("a,b\n\n  \n,\n\n"), (Rows{{"a", "b"}, {"", ""}}));
  EXPECT_EQ(Tsv("a\tb\n\n\t\n\n"), (Rows{{"a", "b"}, {"", ""}}));
  EXPECT_EQ(Csv("a\n\"\"\n"), (Rows{{"a"}, {""}}));
  EXPECT_TRUE(Csv("").empty());
}

TEST_F(Delimited, ASeparatorAtTheEndOfTheFileOpensAnEmptyCell) {
  EXPECT_EQ(Csv("a,b\n1,"), (Rows{{"a", "b"}, {"1", ""}}));
  EXPECT_EQ(Tsv("a\tb\n1\t"), (Rows{{"a", "b"}, {"1", ""}}));
}

TEST_F(Delimited, LinesAreCountedThroughQuotedLineEnds) {
  DelimitedReader reader(folder_.Write("a.csv", "a\n\"x\ny\"\n\nlast\n"), kCsv);
  std::vector<int64_t> lines;
  while (reader.Next()) lines.push_back(reader.line());
  EXPECT_EQ(lines, (std::vector<int64_t>{1, 2, 5}));
}

TEST_F(Delimited, LinesThatEndInCarriageReturnsAreCounted) {
  DelimitedReader reader(folder_.Write("a.csv", "a\rb\r\nc\n\rd"), kCsv);
  std::vector<int64_t> lines;
  while (reader.Next()) lines.push_back(reader.line());
  EXPECT_EQ(lines, (std::vector<int64_t>{1, 2, 3, 5}));
}

TEST_F(Delimited, AQuoteThatNeverClosesIsNamedWithItsLine) {
  ExpectError([&] { Csv("a,b\n1,2\n3,\"open\n4,5\n"); }, {"a.csv:3:", "never ends", "open"});
}

TEST_F(Delimited, Utf16IsRefused) {
  ExpectError(
      [&] {
        Csv(
            std::string_view("\xFF\xFE"
                             "a\0",
                             4));
      },
      {"UTF-16", "iconv"});
}

TEST_F(Delimited, AMissingFileIsNamed) {
  ExpectError([&] { DelimitedReader(folder_.path() / "none.csv", kCsv); }, {"none.csv"});
}

std::string Quoted(const std::string& cell) {
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

TEST_F(Delimited, RandomCellsComeBackAsTheyWereWritten) {
  std::mt19937 random(7);
  const std::string alphabet = "ab,\"\n\r\t ;\xC3\xA9";
  for (int round = 0; round < 300; ++round) {
    const size_t columns = 1 + random() % 4;
    Rows rows(1 + random() % 6, std::vector<std::string>(columns));
    std::string content;
    const std::string line_end = random() % 2 == 0 ? "\n" : "\r\n";
    for (auto& row : rows) {
      for (size_t c = 0; c < columns; ++c) {
        for (size_t n = random() % 6; n > 0; --n) row[c] += alphabet[random() % alphabet.size()];
        const bool plain = row[c].find_first_of(",\"\r\n") == row[c].npos && columns > 1;
        content += (c == 0 ? "" : ",") + (plain && random() % 2 == 0 ? row[c] : Quoted(row[c]));
      }
      content += line_end;
    }
    ASSERT_EQ(Csv(content), rows) << content;
  }
}

TEST(Excerpt, IsCutBetweenCharactersAndShowsControlCharacters) {
  EXPECT_EQ(Excerpt("a\tb\nc\x1b", 80), "a\\tb\\nc\\x1b");
  EXPECT_EQ(Excerpt("\xC3\xA9\xC3\xA9\xC3\xA9", 2), "\xC3\xA9\xC3\xA9...");
}

}  // namespace
}  // namespace hagane::data
