// GPT-2's and RoBERTa's tokenizer: words by a regular expression, their bytes merged by rank.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe_merges.h"
#include "text/gpt2_words.h"
#include "text/tokenizer.h"
#include "text/tokenizer_spec.h"

namespace hagane::text {

// How each byte is written in vocab.json: printable Latin-1 as itself, the others from U+0100 on.
std::array<std::string, 256> ByteAlphabet();

class ByteLevelBpeTokenizer : public Tokenizer {
 public:
  explicit ByteLevelBpeTokenizer(const TokenizerSpec& spec);

  Tokens Tokenize(std::string_view text, bool with_offsets) const override;

 private:
  struct Piece;
  // Blanks at the ends of a token's written form, which trim_offsets leaves out.
  struct Blanks {
    int32_t leading = 0, trailing = 0;
  };

  static Blanks CountBlanks(std::string_view token);
  void SetPiece(std::string_view text, int32_t first, bool with_offsets, Piece& piece) const;
  void TokenizePiece(Piece& piece, Tokens& tokens) const;
  void TokenizeWord(std::string_view word, Piece& piece, Tokens& tokens) const;
  void AddOffset(Offset offset, Blanks blanks, Tokens& tokens) const;

  AddedTokenMatcher raw_added_,
      normalized_added_;  // the second ones are looked for after the first
  Gpt2Words words_;
  MergeTable merges_;
  std::array<int32_t, 256> byte_ids_;  // -1: not in the vocabulary
  int32_t unk_id_ = -1;
  std::vector<Blanks> blanks_;  // by id; empty without trim_offsets
  bool add_prefix_space_, use_regex_, trim_offsets_, trim_keeps_prefix_;
};

}  // namespace hagane::text
