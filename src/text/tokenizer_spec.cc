#include "text/tokenizer_spec.h"

#include <fmt/core.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "io/printable.h"

namespace hagane::text {
namespace {

class Hasher {
 public:
  Hasher() { XXH3_128bits_reset(&state_); }

  void Add(std::string_view text) {
    Add(text.size());
    XXH3_128bits_update(&state_, text.data(), text.size());
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void Add(T value) {
    const auto wide = static_cast<int64_t>(value);
    XXH3_128bits_update(&state_, &wide, sizeof(wide));
  }
  template <class... Ts>
  void AddAll(const Ts&... values) {
    (Add(values), ...);
  }
  std::string Hex() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  XXH3_state_t state_;
};

}  // namespace

void AddMerge(std::string_view left, std::string_view right, const std::string& place,
              TokenizerSpec& spec) {
  if (spec.byte_level.merges.size() > kMaxTokenId)
    throw Error(fmt::format("{}: there are more merges than tokens", place), "copy the file again");
  const auto find = [&](std::string_view token) {
    const int32_t id = spec.vocabulary.Find(token);
    if (id < 0) {
      throw Error(
          fmt::format("{}: the merge of '{}' and '{}' needs '{}', which is not in the vocabulary",
                      place, io::Printable(left), io::Printable(right), io::Printable(token)),
          "vocabulary and merges must be of the same model");
    }
    return id;
  };
  const std::string merged = std::string(left).append(right);
  spec.byte_level.merges.push_back({find(left), find(right), find(merged)});
}

std::string Fingerprint(const TokenizerSpec& spec) {
  Hasher hasher;
  std::vector<std::pair<int32_t, std::string_view>> tokens;
  for (const auto& [token, id] : spec.vocabulary) tokens.emplace_back(id, token);
  std::sort(tokens.begin(), tokens.end());
  hasher.AddAll(static_cast<int>(spec.kind), tokens.size());
  for (const auto& [id, token] : tokens) hasher.AddAll(id, token);

  if (spec.kind == TokenizerKind::kWordPiece) {
    const WordPieceSpec& piece = spec.word_piece;
    const BertNormalizerOptions& normalizer = piece.normalizer;
    hasher.AddAll(normalizer.clean_text, normalizer.handle_chinese_chars, normalizer.strip_accents,
                  normalizer.lowercase, std::string_view(piece.unk_token),
                  std::string_view(piece.continuing_prefix), piece.max_chars_per_word);
  } else {
    const ByteLevelBpeSpec& bpe = spec.byte_level;
    hasher.AddAll(std::string_view(bpe.unk_token), bpe.add_prefix_space, bpe.use_regex,
                  bpe.trim_offsets, bpe.trim_keeps_prefix, bpe.merges.size());
    for (const Merge& merge : bpe.merges) hasher.AddAll(merge.left, merge.right, merge.merged);
  }
  hasher.Add(spec.added_tokens.size());
  for (const AddedToken& token : spec.added_tokens) {
    hasher.AddAll(std::string_view(token.content), token.id, token.single_word, token.lstrip,
                  token.rstrip, token.normalized);
  }
  hasher.AddAll(spec.post.cls_id, spec.post.sep_id, spec.post.double_separator,
                spec.post.pair_type_ids, spec.returns_token_types);
  return hasher.Hex();
}

}  // namespace hagane::text
