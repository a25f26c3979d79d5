// Everything of a model folder that decides ids and offsets, whichever files it came from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/added_tokens.h"
#include "text/bert_normalizer.h"

namespace hagane::text {

class Vocabulary {
 public:
  // False when the token was there: the later id is kept, as the reference does.
  bool Add(std::string token, int32_t id) {
    const auto [entry, is_new] = ids_.insert_or_assign(std::move(token), id);
    if (id >= end_id_) end_id_ = id + 1;
    return is_new;
  }
  // -1 when absent.
  int32_t Find(std::string_view token) const {
    const auto entry = ids_.find(token);
    return entry == ids_.end() ? -1 : entry->second;
  }
  size_t size() const { return ids_.size(); }
  int32_t end_id() const { return end_id_; }  // highest id + 1
  auto begin() const { return ids_.begin(); }
  auto end() const { return ids_.end(); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
  int32_t end_id_ = 0;
};

struct WordPieceSpec {
  BertNormalizerOptions normalizer;
  std::string unk_token = "[UNK]";
  std::string continuing_prefix = "##";
  int max_chars_per_word = 100;
};

struct Merge {
  int32_t left, right;  // ids of the parts
  int32_t merged;
};

struct ByteLevelBpeSpec {
  std::vector<Merge> merges;       // best first
  std::string unk_token;           // empty: bytes outside of the vocabulary are dropped
  bool add_prefix_space = false;   // before every text that does not start with one
  bool use_regex = true;           // split into words before merging
  bool trim_offsets = true;        // offsets leave out blanks
  bool trim_keeps_prefix = false;  // ... but not the one that add_prefix_space has added
};

struct TemplateSpec {
  int32_t cls_id = -1;
  int32_t sep_id = -1;
  bool double_separator = false;
  bool pair_type_ids = true;
};

// Ids come from files, and a token takes some 100 bytes. The largest vocabularies of encoders have
// some 500,000 tokens; merges are fewer.
inline constexpr int64_t kMaxTokenId = (1 << 19) - 1;

enum class TokenizerKind { kWordPiece, kByteLevelBpe };

struct TokenizerSpec {
  TokenizerKind kind = TokenizerKind::kWordPiece;
  std::filesystem::path vocabulary_file;  // for errors
  Vocabulary vocabulary;
  WordPieceSpec word_piece;              // when kWordPiece
  ByteLevelBpeSpec byte_level;           // when kByteLevelBpe
  std::vector<AddedToken> added_tokens;  // distinct contents, with ids
  TemplateSpec post;
  int32_t pad_id = 0;
  bool returns_token_types = true;
  std::optional<int64_t> model_max_length;
  std::vector<std::filesystem::path> files;
};

// Appends a merge of two tokens; the Error when one is not in the vocabulary begins with `place`.
void AddMerge(std::string_view left, std::string_view right, const std::string& place,
              TokenizerSpec& spec);

// XXH3-128 in hex over every field that decides ids, types or offsets.
std::string Fingerprint(const TokenizerSpec& spec);

}  // namespace hagane::text
