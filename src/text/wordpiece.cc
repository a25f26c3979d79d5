#include "text/wordpiece.h"

#include <fmt/core.h>

#include <unordered_set>

#include "base/error.h"
#include "io/printable.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace hagane::text {
namespace {

enum class CharacterKind : uint8_t { kWord, kSpace, kPunctuation };

CharacterKind KindOf(char32_t c) {
  if (IsWhiteSpace(c)) return CharacterKind::kSpace;
  return IsPunctuation(c) ? CharacterKind::kPunctuation : CharacterKind::kWord;
}

ByteTrie MakePieces(const Vocabulary& vocabulary) {
  std::vector<std::pair<std::string_view, int32_t>> entries;
  entries.reserve(vocabulary.size());
  for (const auto& [token, id] : vocabulary) entries.emplace_back(token, id);
  return ByteTrie(std::move(entries));
}

std::vector<AddedToken> RawTokens(const TokenizerSpec& spec) {
  std::vector<AddedToken> tokens;
  for (const AddedToken& token : spec.added_tokens) {
    if (!token.normalized) tokens.push_back(token);
  }
  return tokens;
}

// Contents as they look after normalisation; those that vanish in it cannot be found.
std::vector<AddedToken> NormalizedTokens(const TokenizerSpec& spec,
                                         const BertNormalizer& normalizer) {
  std::vector<AddedToken> tokens;
  std::unordered_set<std::string> contents;
  for (AddedToken token : spec.added_tokens) {
    if (!token.normalized) continue;
    NormalizedText normal;
    normalizer.Normalize(token.content, 0, false, normal);
    token.content = std::move(normal.bytes);
    if (!token.content.empty() && contents.insert(token.content).second)
      tokens.push_back(std::move(token));
  }
  return tokens;
}

void Append(int32_t id, Offset offset, bool with_offsets, Tokens& tokens) {
  tokens.ids.push_back(id);
  if (with_offsets) tokens.offsets.push_back(offset);
}

// The range of the original text that bytes [begin, end) of `text` come from.
Offset SourceOf(const NormalizedText& text, size_t begin, size_t end) {
  return {text.sources[begin].begin, text.sources[end - 1].end};
}

}  // namespace

WordPieceTokenizer::WordPieceTokenizer(const TokenizerSpec& spec)
    : Tokenizer(spec),
      normalizer_(spec.word_piece.normalizer),
      raw_added_(RawTokens(spec)),
      normalized_added_(NormalizedTokens(spec, normalizer_)),
      pieces_(MakePieces(spec.vocabulary)),
      continuation_(pieces_.Find(spec.word_piece.continuing_prefix)),
      unk_id_(spec.vocabulary.Find(spec.word_piece.unk_token)),
      max_chars_per_word_(static_cast<size_t>(spec.word_piece.max_chars_per_word)) {
  if (unk_id_ < 0) {
    throw Error(fmt::format("{}: the vocabulary has no {}", spec.vocabulary_file.string(),
                            io::Printable(spec.word_piece.unk_token)),
                "take the vocabulary file from the model's own folder");
  }
}

Tokens WordPieceTokenizer::Tokenize(std::string_view text, bool with_offsets) const {
  Tokens tokens;
  std::string storage;
  text = ValidUtf8(text, storage);
  tokens.ids.reserve(text.size() / 4 + 8);
  if (with_offsets) tokens.offsets.reserve(text.size() / 4 + 8);

  std::vector<Segment> segments, parts;
  NormalizedText normal;
  raw_added_.Split(text, segments);
  CodePointCounter characters(text);
  for (const Segment& segment : segments) {
    const std::string_view piece = text.substr(segment.begin, segment.end - segment.begin);
    const int32_t first = characters.At(segment.begin);
    const int32_t last = characters.At(segment.end);
    if (segment.id >= 0) {
      Append(segment.id, {first, last}, with_offsets, tokens);
    } else {
      normalizer_.Normalize(piece, first, with_offsets, normal);
      if (normalized_added_.empty()) {
        TokenizeNormalized(normal, 0, normal.bytes.size(), tokens);
      } else {
        normalized_added_.Split(normal.bytes, parts);
        for (const Segment& part : parts) {
          if (part.id < 0) {
            TokenizeNormalized(normal, part.begin, part.end, tokens);
          } else {
            Append(part.id, with_offsets ? SourceOf(normal, part.begin, part.end) : Offset{},
                   with_offsets, tokens);
          }
        }
      }
    }
  }
  return tokens;
}

void WordPieceTokenizer::TokenizeNormalized(const NormalizedText& text, size_t begin, size_t end,
                                            Tokens& tokens) const {
  static constexpr auto kAscii = [] {
    std::array<CharacterKind, 128> kinds{};
    for (size_t c = 0; c < kinds.size(); ++c) {
      const bool alphanumeric =
          (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
      if (c == ' ' || (c >= '\t' && c <= '\r')) {
        kinds[c] = CharacterKind::kSpace;
      } else if (c > ' ' && c < 127 && !alphanumeric) {
        kinds[c] = CharacterKind::kPunctuation;
      }
    }
    return kinds;
  }();

  size_t word = begin;
  for (size_t pos = begin; pos < end;) {
    const auto byte = static_cast<unsigned char>(text.bytes[pos]);
    CodePoint c{byte, 1};
    CharacterKind kind;
    if (byte < 0x80) {
      kind = kAscii[byte];
    } else {
      c = DecodeUtf8(text.bytes, pos);
      kind = KindOf(c.value);
    }
    const size_t next = pos + c.length;
    if (kind != CharacterKind::kWord) {
      if (word < pos) TokenizeWord(text, word, pos, tokens);
      if (kind == CharacterKind::kPunctuation) TokenizeWord(text, pos, next, tokens);
      word = next;
    }
    pos = next;
  }
  if (word < end) TokenizeWord(text, word, end, tokens);
}

void WordPieceTokenizer::TokenizeWord(const NormalizedText& text, size_t begin, size_t end,
                                      Tokens& tokens) const {
  const bool with_offsets = !text.sources.empty();
  const std::string_view bytes = std::string_view(text.bytes).substr(0, end);
  const size_t tokens_before = tokens.ids.size();
  const bool too_long = end - begin > max_chars_per_word_ &&
                        CountCodePoints(bytes.substr(begin)) > max_chars_per_word_;
  size_t pos = too_long ? end + 1 : begin;
  uint32_t start = ByteTrie::kRoot;
  while (pos < end) {
    const ByteTrie::Match piece = start == ByteTrie::kNoNode
                                      ? ByteTrie::Match{}
                                      : pieces_.LongestMatch(start, bytes.substr(pos));
    if (piece.value < 0) {
      pos = end + 1;
      break;
    }
    Append(piece.value, with_offsets ? SourceOf(text, pos, pos + piece.length) : Offset{},
           with_offsets, tokens);
    pos += piece.length;
    start = continuation_;
  }
  if (pos == end) return;
  // One piece without a match makes the whole word unknown.
  tokens.ids.resize(tokens_before);
  if (with_offsets) tokens.offsets.resize(tokens_before);
  Append(unk_id_, with_offsets ? SourceOf(text, begin, end) : Offset{}, with_offsets, tokens);
}

}  // namespace hagane::text
