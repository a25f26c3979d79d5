// BERT, and what shares its layout: MiniLM, the sentence-transformers encoders, most "bert" models.
#include "nn/family.h"

namespace hagane::nn {

const Family& BertFamily() {
  static const Family family = {
      .model_type = "bert",
      .base_prefix = "bert.",
      .class_prefix = "Bert",
      .embeddings = BertEmbeddingNames(),
      .layer_names = BertLayerNames,
      .parse_encoder = ParseBertKeys,
      .parse_head =
          [](const io::ModelConfig& config) {
            HeadConfig head;  // tanh(pooler(h0)), dropout, classifier
            head.hidden_dropout = Probability(config, "classifier_dropout",
                                              Probability(config, "hidden_dropout_prob", 0.1f));
            head.dense_name = "bert.pooler.dense";
            head.dense_in_backbone = true;
            head.out_name = "classifier";
            return head;
          },
  };
  return family;
}

}  // namespace hagane::nn
