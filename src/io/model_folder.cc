#include "io/model_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "io/atomic_write.h"
#include "io/json.h"
#include "io/mapped_file.h"
#include "io/printable.h"

namespace hagane::io {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTokenizerFiles[] = {"tokenizer.json",
                                           "tokenizer_config.json",
                                           "special_tokens_map.json",
                                           "added_tokens.json",
                                           "vocab.txt",
                                           "vocab.json",
                                           "merges.txt",
                                           "spiece.model",
                                           "spm.model",
                                           "sentencepiece.bpe.model"};

std::optional<int64_t> DecimalNumber(const std::string& text) {
  int64_t value = 0;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

std::string Shown(const Json& value) { return Printable(value.dump(-1, ' ', true), 60); }

// In Python the keys of these are integers, and sorted as such.
bool HasIntegerKeys(const std::string& name) {
  return name == "id2label" || name == "pruned_heads";
}

Json WithSortedKeys(const Json& value, const std::string& name) {
  if (value.is_array()) {
    Json sorted = Json::array();
    for (const Json& element : value) sorted.push_back(WithSortedKeys(element, ""));
    return sorted;
  }
  if (!value.is_object()) return value;
  std::vector<const Json::object_t::value_type*> members;
  for (const auto& member : value.get_ref<const Json::object_t&>()) members.push_back(&member);
  const bool as_integers = HasIntegerKeys(name);
  std::sort(members.begin(), members.end(), [&](const auto* a, const auto* b) {
    if (as_integers) {
      const auto x = DecimalNumber(a->first), y = DecimalNumber(b->first);
      if (x && y) return *x < *y;
      if (x || y) return x.has_value();
    }
    return a->first < b->first;
  });
  Json sorted = Json::object();
  auto& out = sorted.get_ref<Json::object_t&>();
  for (const auto* member : members) {
    out.emplace_back(member->first, WithSortedKeys(member->second, member->first));
  }
  return sorted;
}

}  // namespace

ModelConfig ModelConfig::Read(const fs::path& folder) {
  std::error_code error;
  const fs::path path = folder / "config.json";
  if (!fs::is_directory(folder, error)) {
    throw Error(fmt::format("the model folder {} does not exist", folder.string()));
  }
  if (!fs::exists(path, error)) {
    throw Error(fmt::format("{} is no model folder: it has no config.json", folder.string()),
                "a model folder holds config.json, the weights and the tokenizer's files, as "
                "save_pretrained() or a download from the Hub makes it");
  }
  return ModelConfig(ReadJsonFile(path, kConfigLimits), path.string());
}

ModelConfig::ModelConfig(Json raw, std::string origin)
    : raw_(std::make_unique<Json>(std::move(raw))), origin_(std::move(origin)) {
  if (!raw_->is_object()) throw Error(fmt::format("{} is not a JSON object", origin_));
}
ModelConfig::ModelConfig(const ModelConfig& other)
    : raw_(std::make_unique<Json>(*other.raw_)), origin_(other.origin_) {}
ModelConfig::ModelConfig(ModelConfig&&) noexcept = default;
ModelConfig& ModelConfig::operator=(ModelConfig other) noexcept {
  raw_.swap(other.raw_);
  origin_.swap(other.origin_);
  return *this;
}
ModelConfig::~ModelConfig() = default;

std::string ModelConfig::ModelType(std::span<const std::string_view> supported) const {
  const std::string hint = fmt::format("supported are {}", fmt::join(supported, ", "));
  const std::string type = GetString("model_type", "");
  if (type.empty()) throw Error(fmt::format("{} has no model_type", origin_), hint);
  if (std::find(supported.begin(), supported.end(), type) == supported.end()) {
    throw Error(fmt::format("{}: models of type {} are not supported", origin_, Printable(type)),
                hint);
  }
  return type;
}

const Json* ModelConfig::Value(const char* key) const {
  const auto found = raw_->find(key);
  return found == raw_->end() || found->is_null() ? nullptr : &*found;
}

void ModelConfig::Fail(const char* key, const std::string& why) const {
  throw Error(fmt::format("{}: {} {}", origin_, key, why));
}

bool ModelConfig::Has(const char* key) const { return Value(key) != nullptr; }

int ModelConfig::GetInt(const char* key, int fallback, int least, int most) const {
  return Has(key) ? RequireInt(key, least, most) : fallback;
}

int ModelConfig::RequireInt(const char* key, int least, int most) const {
  const Json* value = Value(key);
  if (value == nullptr) Fail(key, "is missing");
  if (!value->is_number_integer())
    Fail(key, fmt::format("is {}, an integer is needed", Shown(*value)));
  const bool beyond = value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX;
  if (beyond || value->get<int64_t>() < least || value->get<int64_t>() > most) {
    Fail(key, fmt::format("is {}, which is not within {} and {}", Shown(*value), least, most));
  }
  return value->get<int>();
}

double ModelConfig::GetNumber(const char* key, double fallback) const {
  const Json* value = Value(key);
  if (value == nullptr) return fallback;
  if (!value->is_number()) Fail(key, fmt::format("is {}, a number is needed", Shown(*value)));
  return value->get<double>();
}

bool ModelConfig::GetBool(const char* key, bool fallback) const {
  const Json* value = Value(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) Fail(key, fmt::format("is {}, true or false is needed", Shown(*value)));
  return value->get<bool>();
}

std::string ModelConfig::GetString(const char* key, const std::string& fallback) const {
  const Json* value = Value(key);
  if (value == nullptr) return fallback;
  if (!value->is_string()) Fail(key, fmt::format("is {}, a text is needed", Shown(*value)));
  return value->get<std::string>();
}

std::vector<std::string> ModelConfig::Labels() const {
  const Json* value = Value("id2label");
  if (value == nullptr) return {};
  if (!value->is_object()) Fail("id2label", "is not an object of id and name");
  std::vector<std::optional<std::string>> by_id(value->size());
  for (const auto& [key, name] : value->items()) {
    const auto id = DecimalNumber(key);
    if (!id || *id < 0 || *id >= static_cast<int64_t>(by_id.size()) ||
        by_id[static_cast<size_t>(*id)]) {
      Fail("id2label", fmt::format("has the id \"{}\"; its ids must be 0 to {}", Printable(key),
                                   by_id.size() - 1));
    }
    // Tools that number the classes write the number itself as the name.
    by_id[static_cast<size_t>(*id)] = name.is_string() ? name.get<std::string>() : Shown(name);
  }
  std::vector<std::string> labels;
  for (auto& label : by_id) labels.push_back(std::move(*label));
  return labels;
}

void WriteModelConfig(const fs::path& folder, const Json& config) {
  WriteFileAtomically(folder / "config.json",
                      DumpPython(WithSortedKeys(config, ""), 2, /*sort_keys=*/false) + "\n");
}

std::vector<std::string> CopyTokenizerFiles(const fs::path& from, const fs::path& to) {
  std::vector<std::string> copied;
  std::error_code error;
  if (fs::equivalent(from, to, error)) return copied;
  for (const char* name : kTokenizerFiles) {
    if (!fs::exists(from / name, error)) continue;
    const auto file = MappedFile::Open(from / name);
    const auto bytes = file->bytes();
    WriteFileAtomically(to / name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    copied.emplace_back(name);
  }
  return copied;
}

}  // namespace hagane::io
