#include "text/tokenizer.h"

#include <algorithm>
#include <tuple>

#include "text/tokenizer_spec.h"

namespace hagane::text {

std::pair<int, int> TruncateLongestFirst(int a, int b, int budget) {
  if (a + b <= budget) return {a, b};
  const int shorter = std::min(a, b);
  if (shorter + std::max(shorter, budget - shorter) <= budget) {
    return a <= b ? std::pair{a, budget - a} : std::pair{budget - b, b};
  }
  const int floor = budget / 2, ceiling = budget - floor;
  return a <= b ? std::pair{floor, ceiling} : std::pair{ceiling, floor};
}

Tokenizer::Tokenizer(const TokenizerSpec& spec)
    // tokenizer.json's template names ids of its own, which the vocabulary need not have.
    : vocab_size_(std::max({spec.vocabulary.end_id(), spec.post.cls_id + 1, spec.post.sep_id + 1})),
      pad_id_(spec.pad_id),
      cls_id_(spec.post.cls_id),
      sep_id_(spec.post.sep_id),
      double_separator_(spec.post.double_separator),
      pair_type_ids_(spec.post.pair_type_ids),
      returns_token_types_(spec.returns_token_types),
      model_max_length_(spec.model_max_length),
      fingerprint_(Fingerprint(spec)),
      files_(spec.files) {
  for (const AddedToken& token : spec.added_tokens)
    vocab_size_ = std::max(vocab_size_, token.id + 1);
}

int Tokenizer::special_tokens(bool pair) const {
  if (!pair) return 2;
  return double_separator_ ? 4 : 3;
}

Encoding Tokenizer::Encode(std::string_view text, const std::string_view* pair, int max_length,
                           bool with_offsets) const {
  Tokens a = Tokenize(text, with_offsets);
  Tokens b = pair != nullptr ? Tokenize(*pair, with_offsets) : Tokens{};
  auto keep_a = static_cast<int>(a.ids.size()), keep_b = static_cast<int>(b.ids.size());
  Encoding encoding;
  if (max_length > 0) {
    const int budget = std::max(0, max_length - special_tokens(pair != nullptr));
    encoding.truncated = keep_a + keep_b > budget;
    if (pair != nullptr) {
      std::tie(keep_a, keep_b) = TruncateLongestFirst(keep_a, keep_b, budget);
    } else {
      keep_a = std::min(keep_a, budget);
    }
  }

  const auto size = static_cast<size_t>(keep_a + keep_b + special_tokens(pair != nullptr));
  encoding.ids.reserve(size);
  encoding.type_ids.reserve(size);
  encoding.sequence_ids.reserve(size);
  if (with_offsets) encoding.offsets.reserve(size);
  const auto special = [&](int32_t id, int32_t type) {
    encoding.ids.push_back(id);
    encoding.type_ids.push_back(type);
    encoding.sequence_ids.push_back(-1);
    if (with_offsets) encoding.offsets.emplace_back();
  };
  const auto sequence = [&](const Tokens& tokens, int keep, int32_t type, int8_t number) {
    const auto count = static_cast<size_t>(keep);
    encoding.ids.insert(encoding.ids.end(), tokens.ids.begin(), tokens.ids.begin() + keep);
    encoding.type_ids.insert(encoding.type_ids.end(), count, type);
    encoding.sequence_ids.insert(encoding.sequence_ids.end(), count, number);
    if (with_offsets)
      encoding.offsets.insert(encoding.offsets.end(), tokens.offsets.begin(),
                              tokens.offsets.begin() + keep);
  };
  special(cls_id_, 0);
  sequence(a, keep_a, 0, 0);
  special(sep_id_, 0);
  if (pair != nullptr) {
    const int32_t type = second_type();
    if (double_separator_) special(sep_id_, 0);
    sequence(b, keep_b, type, 1);
    special(sep_id_, type);
  }
  return encoding;
}

}  // namespace hagane::text
