// The normaliser of BERT's tokenizers: cleaning, blanks around Han characters, accents, lower case.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace hagane::text {

struct BertNormalizerOptions {
  bool clean_text = true;            // invisible characters vanish, white space becomes ' '
  bool handle_chinese_chars = true;  // every Han character a word of its own
  bool strip_accents = true;         // NFD without non-spacing marks
  bool lowercase = true;
};

struct NormalizedText {
  std::string bytes;  // UTF-8
  std::vector<Offset>
      sources;  // of each byte: its character in the original text; empty when not asked for
};

// Immutable.
class BertNormalizer {
 public:
  explicit BertNormalizer(BertNormalizerOptions options);

  // Replaces `out` by the normal form of `text` (valid UTF-8), whose first character is number
  // `first` of the original.
  void Normalize(std::string_view text, int32_t first, bool with_sources,
                 NormalizedText& out) const;

  const BertNormalizerOptions& options() const { return options_; }

 private:
  class Run;

  BertNormalizerOptions options_;
  // What becomes of an ASCII character; -1: it vanishes.
  std::array<int8_t, 128> ascii_;
};

}  // namespace hagane::text
