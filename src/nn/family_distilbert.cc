// DistilBERT: BERT's layers with other names and keys, no token types, no pooler, no dropout after
// the attention's output projection, LayerNorm eps fixed at 1e-12, a ReLU head.
#include <fmt/format.h>

#include "nn/family.h"

namespace hagane::nn {

namespace {

LayerNames DistilBertLayerNames(int layer) {
  const std::string base = fmt::format("transformer.layer.{}.", layer);
  return {base + "attention.q_lin",   base + "attention.k_lin",  base + "attention.v_lin",
          base + "attention.out_lin", base + "sa_layer_norm",    base + "ffn.lin1",
          base + "ffn.lin2",          base + "output_layer_norm"};
}

EncoderConfig ParseDistilBertKeys(const io::ModelConfig& config) {
  EncoderConfig encoder;
  encoder.vocab_size = config.GetInt("vocab_size", 30522);
  encoder.hidden_size = config.GetInt("dim", 768);
  encoder.embedding_size = encoder.hidden_size;
  encoder.num_layers = config.GetInt("n_layers", 6);
  encoder.num_heads = config.GetInt("n_heads", 12);
  encoder.intermediate_size = config.GetInt("hidden_dim", 3072);
  encoder.max_positions = config.GetInt("max_position_embeddings", 512);
  encoder.type_vocab_size = 0;
  encoder.activation = kernels::ParseActivation(config.GetString("activation", "gelu"));
  encoder.layer_norm_eps = 1e-12f;
  encoder.initializer_range = static_cast<float>(config.GetNumber("initializer_range", 0.02));
  const float dropout = Probability(config, "dropout", 0.1f);
  encoder.embedding_dropout = dropout;
  encoder.attention_output_dropout = 0.0f;
  encoder.feed_forward_dropout = dropout;
  encoder.attention_dropout = Probability(config, "attention_dropout", 0.1f);
  encoder.pad_token_id = config.GetInt("pad_token_id", 0);
  // sinusoidal_pos_embds only chooses the table's start values, which the checkpoint holds.
  return encoder;
}

}  // namespace

const Family& DistilBertFamily() {
  static const Family family = {
      .model_type = "distilbert",
      .base_prefix = "distilbert.",
      .class_prefix = "DistilBert",
      .embeddings = {.word = "embeddings.word_embeddings",
                     .position = "embeddings.position_embeddings",
                     .segment = "",
                     .norm = "embeddings.LayerNorm",
                     .projection = ""},
      .layer_names = DistilBertLayerNames,
      .parse_encoder = ParseDistilBertKeys,
      .parse_head =
          [](const io::ModelConfig& config) {
            HeadConfig head;
            head.activation = kernels::Activation::kRelu;
            head.hidden_dropout = Probability(config, "seq_classif_dropout", 0.2f);
            head.dense_name = "pre_classifier";
            head.out_name = "classifier";
            return head;
          },
      .span_dropout_key = "qa_dropout",
      .span_dropout = 0.1f,
  };
  return family;
}

}  // namespace hagane::nn
