// Tokens that are cut out of a text before the model sees it: [SEP], <mask> and those of a user.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_trie.h"

namespace hagane::text {

struct AddedToken {
  std::string content;
  int32_t id = -1;
  bool single_word = false;  // not next to a word character
  bool lstrip = false;       // takes the white space on its left with it
  bool rstrip = false;
  bool normalized = false;  // looked for in the normalised text, not in the raw one
  bool operator==(const AddedToken&) const = default;
};

// Part of a text: an added token, or what lies between two of them.
// A token that takes the blanks behind it (rstrip) may reach into the token that comes next.
struct Segment {
  size_t begin, end;  // bytes
  int32_t id;         // of the added token, -1 for text
};

// Immutable.
class AddedTokenMatcher {
 public:
  AddedTokenMatcher() = default;
  // Contents are distinct and not empty.
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }

  // Replaces `segments`: valid UTF-8 `text` from left to right, the longest token where several
  // start at the same place. Segments of text are never empty.
  void Split(std::string_view text, std::vector<Segment>& segments) const;

 private:
  size_t FindCandidate(std::string_view text, size_t pos) const;

  std::vector<AddedToken> tokens_;
  ByteTrie trie_;  // content -> index in tokens_
  std::array<bool, 256> starts_{};
  int single_start_ = -1;  // the first byte of all tokens when they share it
};

}  // namespace hagane::text
