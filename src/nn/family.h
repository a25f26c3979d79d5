// What tells one family of encoders from another: config.json's keys, tensor names, the head. All
// else is shared. A new family is one file family_NAME.cc that defines such a table, and its line
// in family.cc.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "nn/encoder_config.h"

namespace hagane::nn {

// Typed reading of config.json; every error names file and key.
class ConfigReader {
 public:
  ConfigReader(const nlohmann::ordered_json& config, std::string origin)
      : config_(config), origin_(std::move(origin)) {}

  // The value of `key`, or `fallback` when it is absent or null. Int: 0 <= value <= 2^31 - 1.
  int Int(const std::string& key, int fallback) const;
  // Finite.
  float Float(const std::string& key, float fallback) const;
  // In [0, 1).
  float Probability(const std::string& key, float fallback) const;
  std::string String(const std::string& key, const std::string& fallback) const;
  bool Bool(const std::string& key, bool fallback) const;

  const std::string& origin() const { return origin_; }

 private:
  const nlohmann::ordered_json* Get(const std::string& key) const;

  const nlohmann::ordered_json& config_;
  std::string origin_;
};

// Module names relative to the base prefix; ".weight" and ".bias" are added. Empty: not there.
struct EmbeddingNames {
  std::string word, position, segment, norm, projection;
};
struct LayerNames {
  std::string query, key, value, attention_output, attention_norm;
  std::string intermediate, output, output_norm;
};

struct Family {
  std::string model_type;    // config.json's
  std::string base_prefix;   // "bert."
  std::string architecture;  // "BertForSequenceClassification"
  EmbeddingNames embeddings;
  LayerNames (*layer_names)(int layer);
  EncoderConfig (*parse_encoder)(const ConfigReader& config);
  HeadConfig (*parse_head)(const ConfigReader& config);
};

const Family& BertFamily();
const Family& DistilBertFamily();
const Family& RobertaFamily();
const Family& ElectraFamily();

// By config.json's model_type; throws an Error that lists the families known.
const Family& FindFamily(const nlohmann::ordered_json& config, const std::string& origin);

// Names and keys that BERT, RoBERTa and ELECTRA share.
LayerNames BertLayerNames(int layer);
EncoderConfig ParseBertKeys(const ConfigReader& config);

}  // namespace hagane::nn
