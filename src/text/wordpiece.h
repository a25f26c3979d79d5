// BERT's tokenizer: normalise, split at blanks and punctuation, longest match first.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/bert_normalizer.h"
#include "text/byte_trie.h"
#include "text/tokenizer.h"
#include "text/tokenizer_spec.h"

namespace hagane::text {

class WordPieceTokenizer : public Tokenizer {
 public:
  // Throws an Error when the vocabulary lacks the unknown token.
  explicit WordPieceTokenizer(const TokenizerSpec& spec);

  Tokens Tokenize(std::string_view text, bool with_offsets) const override;

 private:
  void TokenizeNormalized(const NormalizedText& text, size_t begin, size_t end,
                          Tokens& tokens) const;
  void TokenizeWord(const NormalizedText& text, size_t begin, size_t end, Tokens& tokens) const;

  BertNormalizer normalizer_;
  AddedTokenMatcher raw_added_;         // looked for before normalisation
  AddedTokenMatcher normalized_added_;  // and after it
  ByteTrie pieces_;
  uint32_t continuation_;  // the node of "##" in pieces_
  int32_t unk_id_;
  size_t max_chars_per_word_;
};

}  // namespace hagane::text
