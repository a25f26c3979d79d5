#include "text/added_tokens.h"

#include <gtest/gtest.h>

#include <string>

namespace hagane::text {
namespace {

// "text|<id>|text" with the id in place of an added token and its range behind it.
std::string Split(const AddedTokenMatcher& matcher, std::string_view text) {
  std::vector<Segment> segments;
  matcher.Split(text, segments);
  std::string result;
  for (const Segment& segment : segments) {
    const std::string part(text.substr(segment.begin, segment.end - segment.begin));
    if (!result.empty()) result += '|';
    result += segment.id < 0 ? part : std::to_string(segment.id) + "<" + part + ">";
  }
  return result;
}

TEST(AddedTokens, AreCutOutFromLeftToRightTheLongestFirst) {
  const AddedTokenMatcher matcher(
      {{.content = "[SEP]", .id = 1}, {.content = "[SEP]x", .id = 2}, {.content = "EP", .id = 3}});
  EXPECT_EQ(Split(matcher, "a[SEP]b"), "a|1<[SEP]>|b");
  EXPECT_EQ(Split(matcher, "[SEP]xx"), "2<[SEP]x>|x");
  EXPECT_EQ(Split(matcher, "[sep] [SE"), "[sep] [SE");
  EXPECT_EQ(Split(matcher, "[SEP][SEP]EP"), "1<[SEP]>|1<[SEP]>|3<EP>");
  EXPECT_EQ(Split(matcher, ""), "");
  EXPECT_EQ(Split(AddedTokenMatcher(), "plain"), "plain");
}

TEST(AddedTokens, TakeWhiteSpaceOnlyOnTheSidesTheyAsk) {
  const AddedTokenMatcher matcher(
      {{.content = "<l>", .id = 1, .lstrip = true}, {.content = "<r>", .id = 2, .rstrip = true}});
  EXPECT_EQ(Split(matcher, "a \u00A0\t<l> b"), "a|1< \u00A0\t<l>>| b");
  EXPECT_EQ(Split(matcher, "a <r>\u3000 b"), "a |2<<r>\u3000 >|b");
  EXPECT_EQ(Split(matcher, "<r>  <l>"), "2<<r>  >|1<<l>>");  // blanks are not taken twice
}

TEST(AddedTokens, SingleWordsDoNotTouchWordCharacters) {
  const AddedTokenMatcher matcher({{.content = "new", .id = 1, .single_word = true}});
  EXPECT_EQ(Split(matcher, "new renew new. news näenew"), "1<new>| renew |1<new>|. news näenew");
  EXPECT_EQ(Split(matcher, "new_ -new- newé"), "new_ -|1<new>|- newé");
}

}  // namespace
}  // namespace hagane::text
