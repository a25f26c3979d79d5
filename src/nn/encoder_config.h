// What an encoder of the BERT family looks like, in one vocabulary for all families. Families
// (family_*.cc) fill it from config.json.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/activation.h"

namespace hagane::nn {

struct EncoderConfig {
  int vocab_size = 30522;
  int embedding_size = 768;  // differs from hidden_size in ELECTRA: then a projection follows
  int hidden_size = 768;
  int num_layers = 12;
  int num_heads = 12;
  int intermediate_size = 3072;
  int max_positions = 512;  // rows of the position table
  int type_vocab_size = 2;  // 0: no token types
  kernels::Activation activation = kernels::Activation::kGelu;
  float layer_norm_eps = 1e-12f;
  float initializer_range = 0.02f;

  float embedding_dropout = 0.1f;
  float attention_dropout = 0.1f;         // on the probabilities
  float attention_output_dropout = 0.1f;  // DistilBERT: 0
  float feed_forward_dropout = 0.1f;

  int pad_token_id = 0;
  // Position ids: see data::PositionRule. RoBERTa counts from pad + 1 and skips pads.
  int position_offset = 0;
  bool positions_count_from_pad = false;
  bool position_pad_row_frozen = false;  // row pad_token_id of the position table gets no gradient

  int head_size() const { return hidden_size / num_heads; }
  int longest_sequence() const { return max_positions - position_offset; }
};

// dropout -> dense -> activation -> dropout -> out: all classification heads of the families.
struct HeadConfig {
  float input_dropout = 0.0f;  // RoBERTa, ELECTRA
  kernels::Activation activation = kernels::Activation::kTanh;
  float hidden_dropout = 0.1f;
  std::string dense_name;          // "bert.pooler.dense", "classifier.dense", "pre_classifier" ...
  std::string out_name;            // "classifier", "classifier.out_proj"
  bool dense_in_backbone = false;  // BERT's pooler: read from the checkpoint's base part if there
};

}  // namespace hagane::nn
