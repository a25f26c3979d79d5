// What the files beside the vocabulary say: tokenizer_config.json, special_tokens_map.json,
// added_tokens.json and the tokenizer_class of config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "text/added_tokens.h"
#include "text/tokenizer_class.h"

namespace hagane::text {

struct TokenizerSettings {
  const TokenizerClass* tokenizer_class = nullptr;
  std::string config_file;  // tokenizer_config.json, for messages
  std::optional<bool> do_lower_case, strip_accents, tokenize_chinese_chars;
  std::optional<bool> add_prefix_space, trim_offsets;
  std::optional<bool> returns_token_types;
  std::optional<int64_t> model_max_length;

  // "cls_token" and the like: what the files say, else the class.
  std::map<std::string, AddedToken> special_tokens;
  // Those of special_tokens and additional_special_tokens that a file names, in the order of the
  // files.
  std::vector<AddedToken> named_tokens;
  // added_tokens_decoder, with ids; outranks what tokenizer.json says of the same token.
  std::vector<AddedToken> decoder_tokens;
  // added_tokens.json, with ids; older, outranked by tokenizer.json.
  std::vector<AddedToken> legacy_tokens;

  // Content of a special token, empty when there is none.
  std::string Content(const std::string& key) const {
    const auto token = special_tokens.find(key);
    return token == special_tokens.end() ? "" : token->second.content;
  }
};

// Throws an Error that names file and key.
TokenizerSettings ReadTokenizerSettings(const std::filesystem::path& folder,
                                        const std::string& model_type);

}  // namespace hagane::text
