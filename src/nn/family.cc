#include "nn/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "nn/model.h"

namespace hagane::nn {

namespace {

std::array<const Family*, 4> AllFamilies() {
  return {&BertFamily(), &DistilBertFamily(), &ElectraFamily(), &RobertaFamily()};
}

}  // namespace

float Probability(const io::ModelConfig& config, const char* key, float fallback) {
  const double p = config.GetNumber(key, static_cast<double>(fallback));
  if (!(p >= 0.0 && p < 1.0)) {
    throw Error(
        fmt::format("{}: \"{}\" is {}, expected 0 or above and below 1", config.origin(), key, p));
  }
  return static_cast<float>(p);
}

std::string SupportedModelTypes() {
  std::string names;
  for (const Family* family : AllFamilies()) {
    names += (names.empty() ? "" : ", ") + family->model_type;
  }
  return names;
}

const Family& FindFamily(const io::ModelConfig& config) {
  std::vector<std::string_view> supported;
  for (const Family* family : AllFamilies()) supported.push_back(family->model_type);
  const std::string type = config.ModelType(supported);
  for (const Family* family : AllFamilies()) {
    if (family->model_type == type) return *family;
  }
  HAGANE_CHECK(false, type);
  return BertFamily();
}

EncoderConfig ParseEncoderConfig(const nlohmann::ordered_json& config, const std::string& origin) {
  const io::ModelConfig model_config(config, origin);
  const EncoderConfig encoder = FindFamily(model_config).parse_encoder(model_config);
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

std::string ArchitectureName(const nlohmann::ordered_json& config, const std::string& origin,
                             ProblemType problem) {
  return FindFamily(io::ModelConfig(config, origin)).class_prefix +
         (problem == ProblemType::kSpan ? "ForQuestionAnswering" : "ForSequenceClassification");
}

EmbeddingNames BertEmbeddingNames(const std::string& projection) {
  return {"embeddings.word_embeddings", "embeddings.position_embeddings",
          "embeddings.token_type_embeddings", "embeddings.LayerNorm", projection};
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

EncoderConfig ParseBertKeys(const io::ModelConfig& config) {
  EncoderConfig encoder;
  encoder.vocab_size = config.GetInt("vocab_size", 30522);
  encoder.hidden_size = config.GetInt("hidden_size", 768);
  encoder.embedding_size = encoder.hidden_size;
  encoder.num_layers = config.GetInt("num_hidden_layers", 12);
  encoder.num_heads = config.GetInt("num_attention_heads", 12);
  encoder.intermediate_size = config.GetInt("intermediate_size", 3072);
  encoder.max_positions = config.GetInt("max_position_embeddings", 512);
  encoder.type_vocab_size = config.GetInt("type_vocab_size", 2);
  encoder.activation = kernels::ParseActivation(config.GetString("hidden_act", "gelu"));
  encoder.layer_norm_eps = static_cast<float>(config.GetNumber("layer_norm_eps", 1e-12));
  encoder.initializer_range = static_cast<float>(config.GetNumber("initializer_range", 0.02));
  const float dropout = Probability(config, "hidden_dropout_prob", 0.1f);
  encoder.embedding_dropout = dropout;
  encoder.attention_output_dropout = dropout;
  encoder.feed_forward_dropout = dropout;
  encoder.attention_dropout = Probability(config, "attention_probs_dropout_prob", 0.1f);
  encoder.pad_token_id = config.GetInt("pad_token_id", 0);
  const std::string positions = config.GetString("position_embedding_type", "absolute");
  if (positions != "absolute") {
    throw Error(
        fmt::format("{}: position_embedding_type \"{}\" is not supported, only \"absolute\"",
                    config.origin(), positions));
  }
  if (config.GetBool("is_decoder", false) || config.GetBool("add_cross_attention", false)) {
    throw Error(config.origin() + ": decoders (is_decoder, add_cross_attention) are not supported");
  }
  return encoder;
}

}  // namespace hagane::nn
