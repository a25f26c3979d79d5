#include "text/byte_trie.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace hagane::text {
namespace {

TEST(ByteTrie, FindsTheLongestKeyNotTheFirst) {
  const ByteTrie trie({{"a", 1}, {"ab", 2}, {"abcd", 3}, {"##b", 4}, {"\xFFz", 5}});
  EXPECT_EQ(trie.LongestMatch(ByteTrie::kRoot, "abcx").value, 2);
  EXPECT_EQ(trie.LongestMatch(ByteTrie::kRoot, "abcd").length, 4u);
  EXPECT_EQ(trie.LongestMatch(ByteTrie::kRoot, "x").value, -1);
  EXPECT_EQ(trie.LongestMatch(ByteTrie::kRoot, "").value, -1);
  EXPECT_EQ(trie.LongestMatch(ByteTrie::kRoot, "\xFFz").value, 5);
  EXPECT_EQ(trie.LongestMatch(trie.Find("##"), "bc").value, 4);
  EXPECT_EQ(trie.Find("##c"), ByteTrie::kNoNode);
  EXPECT_EQ(ByteTrie().LongestMatch(ByteTrie::kRoot, "a").value, -1);
}

TEST(ByteTrie, EqualsASearchThroughAllKeys) {
  std::mt19937 random(1);
  const auto word = [&](size_t longest) {
    std::string text(random() % (longest + 1), ' ');
    for (char& c : text) c = static_cast<char>('a' + random() % 3);
    return text;
  };
  std::map<std::string, int32_t> keys;
  for (int32_t i = 0; i < 60; ++i) keys.emplace(word(6), i);
  keys.erase("");
  const ByteTrie trie({keys.begin(), keys.end()});
  for (int i = 0; i < 2000; ++i) {
    const std::string text = word(10);
    ByteTrie::Match expected;
    for (size_t length = 1; length <= text.size(); ++length) {
      if (const auto key = keys.find(text.substr(0, length)); key != keys.end())
        expected = {length, key->second};
    }
    const ByteTrie::Match match = trie.LongestMatch(ByteTrie::kRoot, text);
    ASSERT_EQ(match.length, expected.length) << text;
    ASSERT_EQ(match.value, expected.value) << text;
  }
}

}  // namespace
}  // namespace hagane::text
