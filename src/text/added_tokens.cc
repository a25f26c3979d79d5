#include "text/added_tokens.h"

#include <algorithm>

#include "text/unicode.h"
#include "text/utf8.h"

namespace hagane::text {
namespace {

bool EndsWithWord(std::string_view text) {
  if (text.empty()) return false;
  return IsWordCharacter(DecodeUtf8(text, PreviousCodePoint(text, text.size())).value);
}

bool StartsWithWord(std::string_view text) {
  return !text.empty() && IsWordCharacter(DecodeUtf8(text, 0).value);
}

size_t WithoutTrailingSpace(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    const size_t previous = PreviousCodePoint(text, end);
    if (!IsWhiteSpace(DecodeUtf8(text, previous).value)) break;
    end = previous;
  }
  return end;
}

size_t LeadingSpace(std::string_view text) {
  size_t pos = 0;
  while (pos < text.size()) {
    const CodePoint c = DecodeUtf8(text, pos);
    if (!IsWhiteSpace(c.value)) break;
    pos += c.length;
  }
  return pos;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::vector<std::pair<std::string_view, int32_t>> entries;
  for (const AddedToken& token : tokens_) {
    entries.emplace_back(token.content, static_cast<int32_t>(entries.size()));
    starts_[static_cast<unsigned char>(token.content[0])] = true;
  }
  trie_ = ByteTrie(std::move(entries));
  if (std::count(starts_.begin(), starts_.end(), true) == 1) {
    single_start_ = static_cast<unsigned char>(tokens_[0].content[0]);
  }
}

size_t AddedTokenMatcher::FindCandidate(std::string_view text, size_t pos) const {
  if (single_start_ >= 0)
    return std::min(text.find(static_cast<char>(single_start_), pos), text.size());
  while (pos < text.size() && !starts_[static_cast<unsigned char>(text[pos])]) ++pos;
  return pos;
}

void AddedTokenMatcher::Split(std::string_view text, std::vector<Segment>& segments) const {
  segments.clear();
  size_t done = 0;  // everything before it is in a segment
  size_t pos = tokens_.empty() ? text.size() : 0;
  while ((pos = FindCandidate(text, pos)) < text.size()) {
    const ByteTrie::Match match = trie_.LongestMatch(ByteTrie::kRoot, text.substr(pos));
    if (match.value < 0) {
      ++pos;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(match.value)];
    size_t begin = pos, end = pos + match.length;
    pos = end;  // the search goes on behind the match, also when the match does not count
    if (token.single_word &&
        (EndsWithWord(text.substr(0, begin)) || StartsWithWord(text.substr(end))))
      continue;
    if (token.lstrip) begin = std::max(WithoutTrailingSpace(text.substr(0, begin)), done);
    if (token.rstrip) end += LeadingSpace(text.substr(end));
    if (done < begin) segments.push_back({done, begin, -1});
    segments.push_back({begin, end, token.id});
    done = end;
  }
  if (done < text.size()) segments.push_back({done, text.size(), -1});
}

}  // namespace hagane::text
