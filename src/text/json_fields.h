// Reading fields of a JSON object that somebody else wrote; absent and null are the same. For .cc
// files only: it pulls in the whole JSON library.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "io/printable.h"

namespace hagane::text {

using Json = nlohmann::ordered_json;

inline const Json* FindField(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto field = object.find(key);
  return field == object.end() || field->is_null() ? nullptr : &*field;
}

// `file` begins the message.
inline Error WrongField(const std::string& file, const std::string& key, const char* expected) {
  return Error(fmt::format("{}: \"{}\" must be {}", file, io::Printable(key), expected),
               "the file is damaged or of a version that is not known");
}

inline std::optional<bool> BoolField(const Json& object, const char* key, const std::string& file) {
  const Json* field = FindField(object, key);
  if (field == nullptr) return std::nullopt;
  if (!field->is_boolean()) throw WrongField(file, key, "true or false");
  return field->get<bool>();
}

inline std::optional<std::string> StringField(const Json& object, const char* key,
                                              const std::string& file) {
  const Json* field = FindField(object, key);
  if (field == nullptr) return std::nullopt;
  if (!field->is_string()) throw WrongField(file, key, "a string");
  return field->get<std::string>();
}

// An integer within [0, limit].
inline int64_t IndexValue(const Json& value, int64_t limit, const std::string& key,
                          const std::string& file) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > limit) {
    throw WrongField(file, key, fmt::format("a whole number from 0 to {}", limit).c_str());
  }
  return value.get<int64_t>();
}

}  // namespace hagane::text
