// What every tokenizer promises for every text.
#pragma once

#include <algorithm>

#include "fuzz/input.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace hagane::fuzz {

// `ordered`: offsets do not go back either. Vocabularies in which a token is written as something
// that its bytes are not (blanks) may break that.
inline void CheckTokens(const text::Tokenizer& tokenizer, std::string_view text, bool ordered) {
  std::string storage;
  const auto characters =
      static_cast<int32_t>(text::CountCodePoints(text::ValidUtf8(text, storage)));
  const text::Tokens tokens = tokenizer.Tokenize(text, true);
  Require(tokens.offsets.size() == tokens.ids.size());
  Require(tokenizer.Tokenize(text, false).ids == tokens.ids);
  int32_t last_end = 0;
  for (size_t i = 0; i < tokens.ids.size(); ++i) {
    Require(tokens.ids[i] >= 0 && tokens.ids[i] < tokenizer.vocab_size());
    const text::Offset offset = tokens.offsets[i];
    Require(0 <= offset.begin && offset.begin <= offset.end && offset.end <= characters);
    // Bytes of one character share its range, so begins need not grow.
    Require(!ordered || offset.end >= last_end);
    last_end = offset.end;
  }
}

// `pair` may be null.
inline void CheckEncoding(const text::Tokenizer& tokenizer, std::string_view text,
                          const std::string_view* pair, int max_length) {
  const text::Encoding whole = tokenizer.Encode(text, pair, 0, true);
  const text::Encoding cut = tokenizer.Encode(text, pair, max_length, true);
  const auto limit =
      static_cast<size_t>(std::max(max_length, tokenizer.special_tokens(pair != nullptr)));
  Require(!whole.truncated);
  Require(cut.truncated == (whole.ids.size() > limit));
  Require(cut.ids.size() == std::min(whole.ids.size(), limit));
  for (const text::Encoding& encoding : {whole, cut}) {
    const size_t size = encoding.ids.size();
    Require(encoding.type_ids.size() == size && encoding.offsets.size() == size &&
            encoding.sequence_ids.size() == size);
    Require(encoding.ids.front() == tokenizer.cls_id() &&
            encoding.ids.back() == tokenizer.sep_id());
    for (size_t i = 0; i < size; ++i) {
      Require(encoding.ids[i] >= 0 && encoding.ids[i] < tokenizer.vocab_size());
      Require(encoding.sequence_ids[i] >= -1 && encoding.sequence_ids[i] <= (pair ? 1 : 0));
      Require(encoding.type_ids[i] >= 0 && encoding.type_ids[i] <= (pair ? 1 : 0));
    }
  }
}

}  // namespace hagane::fuzz
