#include "text/byte_level_bpe.h"

#include <algorithm>

#include "text/unicode.h"
#include "text/utf8.h"

namespace hagane::text {
namespace {

std::vector<AddedToken> SelectTokens(const TokenizerSpec& spec, bool normalized) {
  std::vector<AddedToken> tokens;
  for (const AddedToken& token : spec.added_tokens) {
    if (token.normalized == normalized) tokens.push_back(token);
  }
  return tokens;
}

}  // namespace

std::array<std::string, 256> ByteAlphabet() {
  std::array<std::string, 256> alphabet;
  char32_t next = 0x100;
  for (size_t byte = 0; byte < alphabet.size(); ++byte) {
    const bool printable =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    AppendUtf8(printable ? static_cast<char32_t>(byte) : next++, alphabet[byte]);
  }
  return alphabet;
}

// Text between two added tokens, and the buffers that live from piece to piece.
struct ByteLevelBpeTokenizer::Piece {
  std::string_view text;  // with the prefix space, if any
  std::vector<int32_t>
      characters;  // of each byte: the number of its character; empty when not asked for
  BpeMerger merger;
  std::string prefixed;
};

ByteLevelBpeTokenizer::ByteLevelBpeTokenizer(const TokenizerSpec& spec)
    : Tokenizer(spec),
      raw_added_(SelectTokens(spec, false)),
      normalized_added_(SelectTokens(spec, true)),
      merges_(spec.byte_level.merges.size()),
      add_prefix_space_(spec.byte_level.add_prefix_space),
      use_regex_(spec.byte_level.use_regex),
      trim_offsets_(spec.byte_level.trim_offsets),
      trim_keeps_prefix_(spec.byte_level.trim_keeps_prefix) {
  const auto alphabet = ByteAlphabet();
  for (size_t byte = 0; byte < alphabet.size(); ++byte)
    byte_ids_[byte] = spec.vocabulary.Find(alphabet[byte]);
  if (!spec.byte_level.unk_token.empty()) unk_id_ = spec.vocabulary.Find(spec.byte_level.unk_token);
  for (size_t i = 0; i < spec.byte_level.merges.size(); ++i) {
    const Merge& merge = spec.byte_level.merges[i];
    merges_.Add(merge.left, merge.right, {static_cast<uint32_t>(i), merge.merged});
  }
  if (!trim_offsets_) return;
  blanks_.resize(static_cast<size_t>(vocab_size_));
  for (const auto& [token, id] : spec.vocabulary)
    blanks_[static_cast<size_t>(id)] = CountBlanks(token);
}

ByteLevelBpeTokenizer::Blanks ByteLevelBpeTokenizer::CountBlanks(std::string_view token) {
  const auto is_blank = [&](size_t pos) {
    const char32_t c = DecodeUtf8(token, pos).value;
    return c == 0x120 || IsWhiteSpace(c);  // U+0120 is how a space is written
  };
  Blanks blanks;
  for (size_t pos = 0; pos < token.size() && is_blank(pos); pos += DecodeUtf8(token, pos).length)
    ++blanks.leading;
  for (size_t end = token.size(); end > 0 && is_blank(PreviousCodePoint(token, end));
       end = PreviousCodePoint(token, end)) {
    ++blanks.trailing;
  }
  return blanks;
}

Tokens ByteLevelBpeTokenizer::Tokenize(std::string_view text, bool with_offsets) const {
  Tokens tokens;
  std::string storage;
  text = ValidUtf8(text, storage);
  tokens.ids.reserve(text.size() / 4 + 8);
  if (with_offsets) tokens.offsets.reserve(text.size() / 4 + 8);

  Piece piece{{}, {}, BpeMerger(merges_), {}};
  std::vector<Segment> segments, parts;
  CodePointCounter characters(text);
  raw_added_.Split(text, segments);
  for (const Segment& segment : segments) {
    const std::string_view segment_text = text.substr(segment.begin, segment.end - segment.begin);
    if (segment.id >= 0) {
      parts.assign(1, {0, segment_text.size(), segment.id});
    } else {
      normalized_added_.Split(segment_text, parts);
    }
    for (const Segment& part : parts) {
      const std::string_view part_text = segment_text.substr(part.begin, part.end - part.begin);
      const int32_t first = characters.At(segment.begin + part.begin);
      const int32_t last = characters.At(segment.begin + part.end);
      if (part.id >= 0) {
        tokens.ids.push_back(part.id);
        if (with_offsets) AddOffset({first, last}, CountBlanks(part_text), tokens);
      } else {
        SetPiece(part_text, first, with_offsets, piece);
        TokenizePiece(piece, tokens);
      }
    }
  }
  return tokens;
}

void ByteLevelBpeTokenizer::SetPiece(std::string_view text, int32_t first, bool with_offsets,
                                     Piece& piece) const {
  const bool add_space = add_prefix_space_ && text.front() != ' ';
  piece.text = add_space ? piece.prefixed.assign(1, ' ').append(text) : text;
  piece.characters.clear();
  if (!with_offsets) return;
  piece.characters.reserve(piece.text.size());
  if (add_space) piece.characters.push_back(first);  // shares the number of the character behind it
  int32_t character = first - 1;
  for (const char byte : text) {
    if (!IsContinuationByte(byte)) ++character;
    piece.characters.push_back(character);
  }
}

void ByteLevelBpeTokenizer::TokenizePiece(Piece& piece, Tokens& tokens) const {
  if (!use_regex_) return TokenizeWord(piece.text, piece, tokens);
  Gpt2Words::Scan scan(words_, piece.text);
  for (std::string_view word = scan.Next(); !word.empty(); word = scan.Next()) {
    TokenizeWord(word, piece, tokens);
  }
}

void ByteLevelBpeTokenizer::TokenizeWord(std::string_view word, Piece& piece,
                                         Tokens& tokens) const {
  piece.merger.Clear();
  for (const char byte : word) {
    // A byte outside of the vocabulary is the unknown token or, where there is none, nothing.
    const int32_t id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id >= 0 || unk_id_ >= 0) piece.merger.Push(id >= 0 ? id : unk_id_, 1);
  }
  piece.merger.MergeAll();
  auto begin = static_cast<size_t>(word.data() - piece.text.data());
  for (const BpeMerger::Symbol& symbol : piece.merger.symbols()) {
    if (symbol.bytes == 0) continue;
    tokens.ids.push_back(symbol.id);
    const size_t end = begin + symbol.bytes;
    if (!piece.characters.empty()) {
      AddOffset({piece.characters[begin], piece.characters[end - 1] + 1},
                trim_offsets_ ? blanks_[static_cast<size_t>(symbol.id)] : Blanks{}, tokens);
    }
    begin = end;
  }
}

void ByteLevelBpeTokenizer::AddOffset(Offset offset, Blanks blanks, Tokens& tokens) const {
  if (trim_offsets_) {
    if (blanks.leading > 0) {
      // How the reference guesses that a blank is the one it has added itself.
      const bool first = tokens.offsets.empty() || offset.begin == 0;
      if (trim_keeps_prefix_ && first && blanks.leading == 1) blanks.leading = 0;
      offset.begin = std::min(offset.begin + blanks.leading, offset.end);
    }
    if (blanks.trailing > 0 && offset.end >= blanks.trailing) {
      offset.end = std::max(offset.end - blanks.trailing, offset.begin);
    }
  }
  tokens.offsets.push_back(offset);
}

}  // namespace hagane::text
