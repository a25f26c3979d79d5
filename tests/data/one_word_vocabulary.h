// A WordPiece vocabulary of one word, "a", for tests and fuzzers of what is made of tokens.
#pragma once

#include "text/tokenizer_spec.h"

namespace hagane::data {

inline text::TokenizerSpec OneWordVocabulary() {
  text::TokenizerSpec spec;
  int32_t id = 0;
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"})
    spec.vocabulary.Add(token, id++);
  spec.post = {.cls_id = 2, .sep_id = 3};
  return spec;
}

}  // namespace hagane::data
