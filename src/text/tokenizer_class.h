// What a tokenizer class of the reference implies when the files do not say it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace hagane::text {

enum class ClassKind {
  kWordPiece,
  kByteLevelBpe,
  kFromJson,       // PreTrainedTokenizerFast: whatever tokenizer.json says
  kSentencePiece,  // known, not supported
};

struct TokenizerClass {
  std::string_view name;        // without "Tokenizer" and "TokenizerFast"
  std::string_view model_type;  // config.json's, when the files name no class
  ClassKind kind;
  std::string_view cls = {}, sep = {}, unk = {}, pad = {}, mask = {};
  bool mask_takes_left_space = false;
  bool returns_token_types = true;
  bool double_separator = false;
  bool pair_type_ids = true;
};

// `class_name` as in tokenizer_config.json, empty when no file names one; then `model_type`
// decides, and without one too tokenizer.json alone. Throws an Error that begins with `place` and
// lists what is known.
const TokenizerClass& FindTokenizerClass(const std::string& class_name,
                                         const std::string& model_type, const std::string& place);

// The sentence for a tokenizer that needs SentencePiece; `what`: "tokenizer class X",
// "spiece.model".
[[noreturn]] void RefuseSentencePiece(const std::string& place, const std::string& what);

}  // namespace hagane::text
