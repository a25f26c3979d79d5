#include "text/tokenizer_settings.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "io/json.h"
#include "text/added_token_json.h"
#include "text/json_fields.h"
#include "text/tokenizer_spec.h"

namespace hagane::text {
namespace {

constexpr const char* kSpecialKeys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};
// The reference writes 1e30 for "no limit".
constexpr double kNoLimit = 1e9;

// An empty object when there is no such file.
Json ReadIfPresent(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return Json::object();
  Json json = io::ReadJsonFile(path, io::kIndexLimits);
  if (!json.is_object()) {
    throw Error(fmt::format("{}: the file must hold a JSON object", path.string()),
                "copy it again");
  }
  return json;
}

void SetClassDefaults(const TokenizerClass& tokenizer_class,
                      std::map<std::string, AddedToken>& tokens) {
  const auto set = [&](const char* key, std::string_view content) {
    if (!content.empty()) tokens[key].content = content;
  };
  set("cls_token", tokenizer_class.cls);
  set("sep_token", tokenizer_class.sep);
  set("unk_token", tokenizer_class.unk);
  set("pad_token", tokenizer_class.pad);
  set("mask_token", tokenizer_class.mask);
  if (tokenizer_class.mask_takes_left_space) tokens["mask_token"].lstrip = true;
}

class Reader {
 public:
  Reader(const std::filesystem::path& folder, TokenizerSettings& settings)
      : folder_(folder), settings_(settings) {}

  void Read(const std::string& model_type) {
    const std::filesystem::path path = folder_ / "tokenizer_config.json";
    const Json config = ReadIfPresent(path);
    settings_.config_file = path.string();
    FindClass(config, model_type);
    const auto option = [&](const char* key) {
      return BoolField(config, key, settings_.config_file);
    };
    settings_.do_lower_case = option("do_lower_case");
    settings_.strip_accents = option("strip_accents");
    settings_.tokenize_chinese_chars = option("tokenize_chinese_chars");
    settings_.add_prefix_space = option("add_prefix_space");
    settings_.trim_offsets = option("trim_offsets");
    ReadLimits(config);

    SetClassDefaults(*settings_.tokenizer_class, settings_.special_tokens);
    ReadSpecialTokens(config, settings_.config_file);
    if (const Json* decoder = FindField(config, "added_tokens_decoder")) {
      ReadDecoder(*decoder);
    } else {
      const std::filesystem::path map = folder_ / "special_tokens_map.json";
      ReadSpecialTokens(ReadIfPresent(map), map.string());
      ReadLegacyTokens();
    }
  }

 private:
  void FindClass(const Json& config, const std::string& model_type) {
    std::string place = settings_.config_file;
    std::string name = StringField(config, "tokenizer_class", place).value_or("");
    if (name.empty()) {
      const std::filesystem::path path = folder_ / "config.json";
      name = StringField(ReadIfPresent(path), "tokenizer_class", path.string()).value_or("");
      place = name.empty() ? folder_.string() : path.string();
    }
    settings_.tokenizer_class = &FindTokenizerClass(name, model_type, place);
  }

  void ReadLimits(const Json& config) {
    if (const Json* limit = FindField(config, "model_max_length")) {
      if (!limit->is_number() || limit->get<double>() < 1) {
        throw WrongField(settings_.config_file, "model_max_length", "a positive number");
      }
      if (limit->get<double>() < kNoLimit)
        settings_.model_max_length = static_cast<int64_t>(limit->get<double>());
    }
    if (const Json* names = FindField(config, "model_input_names")) {
      settings_.returns_token_types =
          std::find(names->begin(), names->end(), Json("token_type_ids")) != names->end();
    }
  }

  void ReadSpecialTokens(const Json& object, const std::string& file) {
    for (const char* key : kSpecialKeys) {
      const Json* value = FindField(object, key);
      if (value == nullptr) continue;
      const AddedToken& standard = settings_.special_tokens[key];
      AddedToken token = ParseAddedToken(*value, true, file);
      // A name alone leaves the flags to the class.
      if (value->is_string()) token.lstrip = standard.lstrip;
      settings_.special_tokens[key] = token;
      settings_.named_tokens.push_back(std::move(token));
    }
    const Json* additional = FindField(object, "additional_special_tokens");
    if (additional == nullptr) return;
    if (!additional->is_array()) throw WrongField(file, "additional_special_tokens", "a list");
    for (const Json& token : *additional)
      settings_.named_tokens.push_back(ParseAddedToken(token, true, file));
  }

  // {"101": {"content": "[CLS]", ...}, ...}
  void ReadDecoder(const Json& decoder) {
    if (!decoder.is_object())
      throw WrongField(settings_.config_file, "added_tokens_decoder", "an object");
    for (const auto& [key, value] : decoder.items()) {
      AddedToken token = ParseAddedToken(value, false, settings_.config_file);
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token.id);
      if (error != std::errc() || end != key.data() + key.size() || token.id < 0 ||
          token.id > kMaxTokenId) {
        throw WrongField(settings_.config_file, "added_tokens_decoder",
                         "an object whose keys are token ids");
      }
      settings_.decoder_tokens.push_back(std::move(token));
    }
  }

  // {"<content>": id, ...}
  void ReadLegacyTokens() {
    const std::filesystem::path path = folder_ / "added_tokens.json";
    const Json tokens = ReadIfPresent(path);
    std::unordered_set<std::string_view> special;
    for (const AddedToken& token : settings_.named_tokens) special.insert(token.content);
    for (const auto& [key, token] : settings_.special_tokens) special.insert(token.content);
    for (const auto& [content, id] : tokens.items()) {
      AddedToken token;
      if (content.empty()) throw WrongField(path.string(), content, "a token, not an empty text");
      token.content = content;
      token.id = static_cast<int32_t>(IndexValue(id, kMaxTokenId, content, path.string()));
      token.normalized = !special.contains(content);
      settings_.legacy_tokens.push_back(std::move(token));
    }
  }

  const std::filesystem::path folder_;
  TokenizerSettings& settings_;
};

}  // namespace

TokenizerSettings ReadTokenizerSettings(const std::filesystem::path& folder,
                                        const std::string& model_type) {
  TokenizerSettings settings;
  Reader(folder, settings).Read(model_type);
  return settings;
}

}  // namespace hagane::text
