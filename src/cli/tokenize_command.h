// The body of `hagane tokenize`: JSON lines in, JSON lines out.
#pragma once

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>

#include "text/tokenizer.h"

namespace hagane::cli {

// Each line of `in` is {"text": ...} or a pair {"a": ..., "b": ...}, either with an optional
// "max_length"; each line of `out` is {"ids": ..., "offsets": ..., "token_type_ids": ...} with the
// special tokens. Blank lines are passed over. Returns the number of lines written. Throws an Error
// that begins with `origin` and the line; what was written before it stays.
int64_t TokenizeLines(const text::Tokenizer& tokenizer, std::istream& in, std::ostream& out,
                      const std::string& origin);

}  // namespace hagane::cli
