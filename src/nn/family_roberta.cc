// RoBERTa and DistilRoBERTa: BERT's layers; positions count from pad id + 1, the pad rows of both
// the word and the position table are frozen, the head is dense + tanh on <s> without a pooler.
#include "nn/family.h"

namespace hagane::nn {

namespace {

EncoderConfig ParseRobertaKeys(const io::ModelConfig& config) {
  EncoderConfig encoder = ParseBertKeys(config);
  encoder.pad_token_id = config.GetInt("pad_token_id", 1);
  encoder.position_offset = encoder.pad_token_id + 1;
  encoder.positions_count_from_pad = true;
  encoder.position_pad_row_frozen = true;
  return encoder;
}

}  // namespace

const Family& RobertaFamily() {
  static const Family family = {
      .model_type = "roberta",
      .base_prefix = "roberta.",
      .class_prefix = "Roberta",
      .embeddings = BertEmbeddingNames(),
      .layer_names = BertLayerNames,
      .parse_encoder = ParseRobertaKeys,
      .parse_head =
          [](const io::ModelConfig& config) {
            HeadConfig head;
            head.input_dropout = Probability(config, "classifier_dropout",
                                             Probability(config, "hidden_dropout_prob", 0.1f));
            head.hidden_dropout = head.input_dropout;
            head.dense_name = "classifier.dense";
            head.out_name = "classifier.out_proj";
            return head;
          },
  };
  return family;
}

}  // namespace hagane::nn
