// For targets of tokenizer files: what loads must tokenise.
#pragma once

#include "base/log.h"
#include "fuzz/encoding.h"

namespace hagane::fuzz {

inline void CheckTokenizerFolder(const Folder& folder, const std::string& model_type) {
  NullLog log;
  const auto tokenizer = text::LoadTokenizer(folder.path(), model_type, log);
  const std::string_view text = "The  caf\u00e9's <mask> [MASK]\t\u4e00 1.5 ab\xff ";
  CheckTokens(*tokenizer, text, false);
  CheckEncoding(*tokenizer, text, &text, 12);
}

}  // namespace hagane::fuzz
