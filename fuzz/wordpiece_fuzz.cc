// WordPiece: two texts as parts of the input. Its first byte chooses the normaliser, the second the
// length to cut to.
#include "fuzz/encoding.h"
#include "text/wordpiece.h"

namespace {

using hagane::text::WordPieceTokenizer;

WordPieceTokenizer Make(unsigned options) {
  hagane::text::TokenizerSpec spec;
  int32_t id = 0;
  for (const char* token :
       {"[PAD]",  "[UNK]",    "[CLS]",  "[SEP]",    "[MASK]",   "un",         "##aff",  "##able",
        "a",      "##a",      "b",      "##b",      "##c",      "ab",         "the",    "##s",
        "e",      "##e",      "i",      "##i",      ".",        ",",          "'",      "-",
        "1",      "##1",      "\u00e9", "##\u00e9", "\u0301",   "##\u0301",   "\u4e00", "\u0130",
        "\u03c3", "##\u03c3", "\uac00", "\u1100",   "##\u1161", "\U0001f98a", "ss",     "\u00df"}) {
    spec.vocabulary.Add(token, id++);
  }
  spec.word_piece.normalizer = {(options & 1) != 0, (options & 2) != 0, (options & 4) != 0,
                                (options & 8) != 0};
  spec.word_piece.max_chars_per_word = 20;
  spec.added_tokens = {
      {.content = "[SEP]", .id = 3},
      {.content = "[MASK]", .id = 4, .lstrip = true, .rstrip = true},
      {.content = "ab", .id = id++, .single_word = true},
      {.content = "New\u00c9", .id = id++, .rstrip = true, .normalized = true},
      {.content = "\u0301", .id = id++, .lstrip = true, .normalized = true},
  };
  spec.post = {.cls_id = 2, .sep_id = 3, .double_separator = (options & 16) != 0};
  return WordPieceTokenizer(spec);
}

}  // namespace

void hagane::fuzz::Read(std::string_view input) {
  static const std::vector<WordPieceTokenizer> tokenizers = [] {
    std::vector<WordPieceTokenizer> made;
    for (unsigned options = 0; options < 32; ++options) made.push_back(Make(options));
    return made;
  }();
  const auto& tokenizer = tokenizers[TakeByte(input) % tokenizers.size()];
  const auto max_length = static_cast<int>(1 + TakeByte(input));
  const auto parts = Parts(input, 2);
  CheckTokens(tokenizer, parts[0], true);
  CheckEncoding(tokenizer, parts[0], parts[1].empty() ? nullptr : &parts[1], max_length);
}
