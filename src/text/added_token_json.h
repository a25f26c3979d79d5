// An added token as the JSON files write it: its content alone, or an object with flags.
#pragma once

#include "text/added_tokens.h"
#include "text/json_fields.h"

namespace hagane::text {

// The id is left open. `special`: a token of special_tokens_map.json and the like, which says so by
// its place; it is looked for in the raw text unless it says otherwise.
inline AddedToken ParseAddedToken(const Json& json, bool special, const std::string& file) {
  AddedToken token;
  if (json.is_string()) {
    token.content = json.get<std::string>();
    token.normalized = !special;
  } else {
    token.content = StringField(json, "content", file).value_or("");
    token.single_word = BoolField(json, "single_word", file).value_or(false);
    token.lstrip = BoolField(json, "lstrip", file).value_or(false);
    token.rstrip = BoolField(json, "rstrip", file).value_or(false);
    special = special || BoolField(json, "special", file).value_or(false);
    token.normalized = BoolField(json, "normalized", file).value_or(!special);
  }
  if (token.content.empty()) throw WrongField(file, "content", "the text of an added token");
  return token;
}

}  // namespace hagane::text
