// Byte-level BPE: two texts as parts of the input. Its first byte chooses the settings, the second
// the length to cut to.
#include <memory>

#include "fuzz/encoding.h"
#include "text/byte_level_bpe.h"

namespace {

using hagane::text::ByteLevelBpeTokenizer;

std::unique_ptr<ByteLevelBpeTokenizer> Make(unsigned options) {
  hagane::text::TokenizerSpec spec;
  int32_t id = 0;
  for (const char* token : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
    spec.vocabulary.Add(token, id++);
  // Without the last bytes, which are then unknown or nothing.
  const auto alphabet = hagane::text::ByteAlphabet();
  const size_t bytes = (options & 1) != 0 ? 256 : 250;
  for (size_t byte = 0; byte < bytes; ++byte) spec.vocabulary.Add(alphabet[byte], id++);
  const auto merge = [&](const std::string& left, const std::string& right) {
    spec.vocabulary.Add(left + right, id++);
    AddMerge(left, right, "merge", spec);
  };
  merge("\u0120", "t");  // a blank
  merge("h", "e");
  merge("\u0120t", "he");
  merge("a", "a");
  merge("aa", "aa");
  merge("aaaa", "a");
  merge("\u0120", "\u0120");
  merge("\u0120\u0120", "\u0120\u0120");
  merge("\u00c3", "\u00a9");  // the two bytes of U+00E9
  merge("\u00e2", "\u0124");  // two of the three of U+2082
  spec.byte_level.unk_token = (options & 2) != 0 ? "<unk>" : "";
  spec.byte_level.add_prefix_space = (options & 4) != 0;
  spec.byte_level.use_regex = (options & 8) != 0;
  spec.byte_level.trim_offsets = (options & 16) != 0;
  spec.byte_level.trim_keeps_prefix = (options & 32) != 0;
  spec.added_tokens = {
      {.content = "</s>", .id = 2},
      {.content = "<mask>", .id = 4, .lstrip = true, .rstrip = (options & 32) != 0},
      {.content = "the", .id = id++, .single_word = true, .normalized = true},
      {.content = " \u00a0", .id = id++},
  };
  spec.post = {.cls_id = 0, .sep_id = 2, .double_separator = true, .pair_type_ids = false};
  spec.pad_id = 1;
  return std::make_unique<ByteLevelBpeTokenizer>(spec);
}

}  // namespace

void hagane::fuzz::Read(std::string_view input) {
  static const auto tokenizers = [] {
    std::vector<std::unique_ptr<ByteLevelBpeTokenizer>> made;
    for (unsigned options = 0; options < 64; ++options) made.push_back(Make(options));
    return made;
  }();
  const unsigned options = TakeByte(input) % tokenizers.size();
  const auto& tokenizer = *tokenizers[options];
  const auto max_length = static_cast<int>(1 + TakeByte(input));
  const auto parts = Parts(input, 2);
  // <mask> with rstrip may reach into the token that begins with blanks.
  CheckTokens(tokenizer, parts[0], (options & 32) == 0);
  CheckEncoding(tokenizer, parts[0], parts[1].empty() ? nullptr : &parts[1], max_length);
}
