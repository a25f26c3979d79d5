// ELECTRA (discriminator): BERT's layers; embeddings may be narrower than the layers, with a
// projection between; the head is dense + gelu on [CLS] without a pooler.
#include "nn/family.h"

namespace hagane::nn {

namespace {

EncoderConfig ParseElectraKeys(const io::ModelConfig& config) {
  EncoderConfig encoder = ParseBertKeys(config);
  encoder.hidden_size = config.GetInt("hidden_size", 256);
  encoder.embedding_size = config.GetInt("embedding_size", 128);
  encoder.num_heads = config.GetInt("num_attention_heads", 4);
  encoder.intermediate_size = config.GetInt("intermediate_size", 1024);
  return encoder;
}

}  // namespace

const Family& ElectraFamily() {
  static const Family family = {
      .model_type = "electra",
      .base_prefix = "electra.",
      .class_prefix = "Electra",
      .embeddings = BertEmbeddingNames("embeddings_project"),
      .layer_names = BertLayerNames,
      .parse_encoder = ParseElectraKeys,
      .parse_head =
          [](const io::ModelConfig& config) {
            HeadConfig head;
            head.input_dropout = Probability(config, "classifier_dropout",
                                             Probability(config, "hidden_dropout_prob", 0.1f));
            head.activation = kernels::Activation::kGelu;
            head.hidden_dropout = head.input_dropout;
            head.dense_name = "classifier.dense";
            head.out_name = "classifier.out_proj";
            return head;
          },
  };
  return family;
}

}  // namespace hagane::nn
