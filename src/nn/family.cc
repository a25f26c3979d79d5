#include "nn/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "nn/model.h"

namespace hagane::nn {

namespace {

std::array<const Family*, 4> AllFamilies() {
  return {&BertFamily(), &DistilBertFamily(), &ElectraFamily(), &RobertaFamily()};
}

Error WrongValue(const std::string& origin, const std::string& key,
                 const nlohmann::ordered_json& value, const std::string& expected) {
  std::string text = value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return Error(fmt::format("{}: \"{}\" is {}, expected {}", origin, key, text, expected),
               "correct the value, or download the model's config.json again");
}

}  // namespace

const nlohmann::ordered_json* ConfigReader::Get(const std::string& key) const {
  const auto found = config_.find(key);
  return found == config_.end() || found->is_null() ? nullptr : &*found;
}

int ConfigReader::Int(const std::string& key, int fallback) const {
  const auto* value = Get(key);
  if (value == nullptr) return fallback;
  constexpr int64_t kMax = 2147483647;
  if (!value->is_number_integer() || value->get<int64_t>() < 0 || value->get<int64_t>() > kMax) {
    throw WrongValue(origin_, key, *value, "a whole number, 0 or above");
  }
  return value->get<int>();
}

float ConfigReader::Float(const std::string& key, float fallback) const {
  const auto* value = Get(key);
  if (value == nullptr) return fallback;
  if (!value->is_number() || !std::isfinite(value->get<float>())) {
    throw WrongValue(origin_, key, *value, "a number");
  }
  return value->get<float>();
}

float ConfigReader::Probability(const std::string& key, float fallback) const {
  const float p = Float(key, fallback);
  if (p < 0.0f || p >= 1.0f) throw WrongValue(origin_, key, *Get(key), "0 or above and below 1");
  return p;
}

std::string ConfigReader::String(const std::string& key, const std::string& fallback) const {
  const auto* value = Get(key);
  if (value == nullptr) return fallback;
  if (!value->is_string()) throw WrongValue(origin_, key, *value, "a text");
  return value->get<std::string>();
}

bool ConfigReader::Bool(const std::string& key, bool fallback) const {
  const auto* value = Get(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) throw WrongValue(origin_, key, *value, "true or false");
  return value->get<bool>();
}

std::string SupportedModelTypes() {
  std::string names;
  for (const Family* family : AllFamilies()) {
    names += (names.empty() ? "" : ", ") + family->model_type;
  }
  return names;
}

const Family& FindFamily(const nlohmann::ordered_json& config, const std::string& origin) {
  const std::string hint = "supported model types: " + SupportedModelTypes();
  if (!config.is_object() || !config.contains("model_type") || !config["model_type"].is_string()) {
    throw Error(origin + ": no \"model_type\"", hint);
  }
  const auto type = config["model_type"].get<std::string>();
  for (const Family* family : AllFamilies()) {
    if (family->model_type == type) return *family;
  }
  throw Error(fmt::format("{}: model_type \"{}\" is not supported", origin, type), hint);
}

EncoderConfig ParseEncoderConfig(const nlohmann::ordered_json& config, const std::string& origin) {
  const Family& family = FindFamily(config, origin);
  const EncoderConfig encoder = family.parse_encoder(ConfigReader(config, origin));
  const auto positive = [&](int value, const char* what) {
    if (value < 1)
      throw Error(fmt::format("{}: {} is {}, expected 1 or more", origin, what, value));
  };
  positive(encoder.vocab_size, "the vocabulary size");
  positive(encoder.hidden_size, "the hidden size");
  positive(encoder.embedding_size, "the embedding size");
  positive(encoder.num_layers, "the number of layers");
  positive(encoder.num_heads, "the number of attention heads");
  positive(encoder.intermediate_size, "the feed-forward size");
  positive(encoder.longest_sequence(), "the number of positions");
  if (encoder.hidden_size % encoder.num_heads != 0) {
    throw Error(fmt::format("{}: the hidden size {} is not a multiple of the {} attention heads",
                            origin, encoder.hidden_size, encoder.num_heads));
  }
  if (encoder.head_size() % 4 != 0 || encoder.embedding_size % 4 != 0) {
    throw Error(
        fmt::format("{}: attention heads of size {} and embeddings of size {} are not "
                    "supported; both must be multiples of 4",
                    origin, encoder.head_size(), encoder.embedding_size));
  }
  if (encoder.pad_token_id >= encoder.vocab_size) {
    throw Error(fmt::format("{}: pad_token_id {} is outside the vocabulary of {}", origin,
                            encoder.pad_token_id, encoder.vocab_size));
  }
  return encoder;
}

std::string ArchitectureName(const nlohmann::ordered_json& config, const std::string& origin) {
  return FindFamily(config, origin).architecture;
}

LayerNames BertLayerNames(int layer) {
  const std::string base = fmt::format("encoder.layer.{}.", layer);
  return {base + "attention.self.query",
          base + "attention.self.key",
          base + "attention.self.value",
          base + "attention.output.dense",
          base + "attention.output.LayerNorm",
          base + "intermediate.dense",
          base + "output.dense",
          base + "output.LayerNorm"};
}

EncoderConfig ParseBertKeys(const ConfigReader& config) {
  EncoderConfig encoder;
  encoder.vocab_size = config.Int("vocab_size", 30522);
  encoder.hidden_size = config.Int("hidden_size", 768);
  encoder.embedding_size = encoder.hidden_size;
  encoder.num_layers = config.Int("num_hidden_layers", 12);
  encoder.num_heads = config.Int("num_attention_heads", 12);
  encoder.intermediate_size = config.Int("intermediate_size", 3072);
  encoder.max_positions = config.Int("max_position_embeddings", 512);
  encoder.type_vocab_size = config.Int("type_vocab_size", 2);
  encoder.activation = kernels::ParseActivation(config.String("hidden_act", "gelu"));
  encoder.layer_norm_eps = config.Float("layer_norm_eps", 1e-12f);
  encoder.initializer_range = config.Float("initializer_range", 0.02f);
  const float dropout = config.Probability("hidden_dropout_prob", 0.1f);
  encoder.embedding_dropout = dropout;
  encoder.attention_output_dropout = dropout;
  encoder.feed_forward_dropout = dropout;
  encoder.attention_dropout = config.Probability("attention_probs_dropout_prob", 0.1f);
  encoder.pad_token_id = config.Int("pad_token_id", 0);
  const std::string positions = config.String("position_embedding_type", "absolute");
  if (positions != "absolute") {
    throw Error(
        fmt::format("{}: position_embedding_type \"{}\" is not supported, only \"absolute\"",
                    config.origin(), positions));
  }
  if (config.Bool("is_decoder", false) || config.Bool("add_cross_attention", false)) {
    throw Error(config.origin() + ": decoders (is_decoder, add_cross_attention) are not supported");
  }
  return encoder;
}

}  // namespace hagane::nn
