// What tells one family of encoders from another: config.json's keys, tensor names, the head. All
// else is shared. A new family is one file family_NAME.cc that defines such a table, and its line
// in family.cc.
#pragma once

#include <string>
#include <vector>

#include "io/model_folder.h"
#include "nn/encoder_config.h"

namespace hagane::nn {

// A probability of dropping, in [0, 1); an Error naming file and key otherwise.
float Probability(const io::ModelConfig& config, const char* key, float fallback);

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
  std::string class_prefix;  // "Bert", of "BertForSequenceClassification"
  EmbeddingNames embeddings;
  LayerNames (*layer_names)(int layer);
  EncoderConfig (*parse_encoder)(const io::ModelConfig& config);
  HeadConfig (*parse_head)(const io::ModelConfig& config);
  // Key of the dropout in front of qa_outputs and its default; null: there is none.
  const char* span_dropout_key = nullptr;
  float span_dropout = 0.0f;
};

const Family& BertFamily();
const Family& DistilBertFamily();
const Family& RobertaFamily();
const Family& ElectraFamily();

// By config.json's model_type; throws an Error that lists the families known.
const Family& FindFamily(const io::ModelConfig& config);

// Names and keys that BERT, RoBERTa and ELECTRA share.
LayerNames BertLayerNames(int layer);
EmbeddingNames BertEmbeddingNames(const std::string& projection = "");
EncoderConfig ParseBertKeys(const io::ModelConfig& config);

}  // namespace hagane::nn
