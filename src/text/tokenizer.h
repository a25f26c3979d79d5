// Hugging Face tokenizers: WordPiece (BERT, DistilBERT, ELECTRA, MiniLM) and byte-level BPE
// (RoBERTa), from tokenizer.json or vocabulary files, equal to the reference's fast tokenizers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"

namespace hagane::text {

struct TokenizerSpec;

// [begin, end) in Unicode code points of the original text; (0, 0) for special tokens added around
// it.
struct Offset {
  int32_t begin = 0;
  int32_t end = 0;
  bool operator==(const Offset&) const = default;
};

// Tokens of one text, without the template's special tokens.
struct Tokens {
  std::vector<int32_t> ids;
  std::vector<Offset> offsets;  // empty when not asked for
};

struct Encoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;  // the template's; what the model gets: see returns_token_types
  std::vector<Offset> offsets;
  std::vector<int8_t> sequence_ids;  // 0 first text, 1 second text, -1 special
  bool truncated = false;
};

// Immutable after loading: Encode may be called from any number of threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Text -> tokens, without template and truncation. Invalid UTF-8 bytes are read as U+FFFD each.
  virtual Tokens Tokenize(std::string_view text, bool with_offsets) const = 0;

  // With template and truncation longest_first to `max_length` tokens (0: no limit). `pair` null: a
  // single text. Truncation rule: the floor / ceil rule of the fast tokenizers, not one by one.
  Encoding Encode(std::string_view text, const std::string_view* pair, int max_length,
                  bool with_offsets) const;

  // Number of special tokens the template adds to a single text / a pair.
  int special_tokens(bool pair) const;

  // Highest id + 1, those of added tokens and of the template included.
  int32_t vocab_size() const { return vocab_size_; }
  int32_t pad_id() const { return pad_id_; }
  int32_t cls_id() const { return cls_id_; }  // first token of the template
  int32_t sep_id() const { return sep_id_; }
  std::optional<int64_t> model_max_length() const { return model_max_length_; }
  // Whether the reference passes token_type_ids to the model (BERT, ELECTRA) or not.
  bool returns_token_types() const { return returns_token_types_; }
  int32_t second_type() const { return pair_type_ids_ ? 1 : 0; }  // of the second text
  // XXH3-128 (hex) of everything that decides the ids; part of the key of feature caches.
  const std::string& fingerprint() const { return fingerprint_; }
  // Files of the source folder to copy into a saved model folder.
  const std::vector<std::filesystem::path>& files() const { return files_; }

 protected:
  Tokenizer() = default;
  explicit Tokenizer(const TokenizerSpec& spec);

  int32_t vocab_size_ = 0, pad_id_ = 0, cls_id_ = 0, sep_id_ = 0;
  bool double_separator_ = false;  // <s> A </s></s> B </s>
  bool pair_type_ids_ = true;      // second text has type 1
  bool returns_token_types_ = true;
  std::optional<int64_t> model_max_length_;
  std::string fingerprint_;
  std::vector<std::filesystem::path> files_;
};

// `folder`: a model folder. `model_type`: config.json's, decides the class when the tokenizer files
// do not name one. Throws an Error naming file and reason; unknown component types are refused.
std::unique_ptr<Tokenizer> LoadTokenizer(const std::filesystem::path& folder,
                                         const std::string& model_type, Log& log);

// How longest_first shares `budget` tokens between texts of `a` and `b` tokens: lengths to keep.
std::pair<int, int> TruncateLongestFirst(int a, int b, int budget);

}  // namespace hagane::text
