#include "nn/encoder.h"

namespace hagane::nn {

namespace {

EmbeddingNames WithPrefix(const std::string& prefix, EmbeddingNames names) {
  for (std::string* name :
       {&names.word, &names.position, &names.segment, &names.norm, &names.projection}) {
    if (!name->empty()) *name = prefix + *name;
  }
  return names;
}

LayerNames WithPrefix(const std::string& prefix, LayerNames names) {
  for (std::string* name :
       {&names.query, &names.key, &names.value, &names.attention_output, &names.attention_norm,
        &names.intermediate, &names.output, &names.output_norm}) {
    *name = prefix + *name;
  }
  return names;
}

}  // namespace

Encoder::Encoder(const Family& family, const EncoderConfig& config, bool first_tokens_only,
                 ParameterSet* parameters)
    : config_(config) {
  embeddings_ = std::make_unique<Embeddings>(
      config_, WithPrefix(family.base_prefix, family.embeddings), parameters);
  layers_.reserve(static_cast<size_t>(config_.num_layers));
  for (int i = 0; i < config_.num_layers; ++i) {
    const bool last = i + 1 == config_.num_layers;
    layers_.emplace_back(config_, WithPrefix(family.base_prefix, family.layer_names(i)), i,
                         first_tokens_only && last, parameters);
  }
}

Encoder::Saved Encoder::Plan(Arena* arena, int64_t tokens, int64_t sequences, bool bf16_operands,
                             bool training) const {
  Saved saved;
  saved.embeddings = embeddings_->Plan(arena, tokens, bf16_operands);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const bool shares = !training && i >= 2 && i + 1 < layers_.size();
    saved.layers.push_back(shares ? saved.layers[i - 2]
                                  : layers_[i].Plan(arena, tokens, sequences, bf16_operands));
    saved.layers[i].x = i == 0 ? saved.embeddings.out : saved.layers[i - 1].y2;
    if (saved.layers[i].tail_x == nullptr) saved.layers[i].tail_x = saved.layers[i].x.value;
  }
  if (training) {
    saved.work = EncoderLayer::PlanWorkspace(config_, arena, tokens, bf16_operands);
    saved.gradient = arena->Take<float>(tokens * config_.hidden_size);
  }
  return saved;
}

void Encoder::Forward(const Step& step, const Saved& saved) const {
  embeddings_->Forward(step, saved.embeddings);
  for (size_t i = 0; i < layers_.size(); ++i) layers_[i].Forward(step, saved.layers[i]);
}

void Encoder::Backward(const Step& step, const Saved& saved,
                       const Model::GradientReady& ready) const {
  int64_t end = step.parameters->flat_size();
  const auto finished = [&](int64_t begin) {
    if (ready) ready(begin, end);
    end = begin;
  };
  GradientPair gradient{saved.gradient, nullptr};
  for (size_t i = layers_.size(); i-- > 0;) {
    gradient = layers_[i].Backward(step, saved.layers[i], saved.work, gradient);
    finished(layers_[i].first_parameter());
  }
  embeddings_->Backward(step, saved.embeddings, saved.work, gradient);
  finished(0);
}

double Encoder::Flops(const PackedBatch& batch) const {
  const double tokens = batch.tokens();
  double flops = embeddings_->LinearFlopsPerToken() * tokens;
  for (const EncoderLayer& layer : layers_) flops += layer.LinearFlopsPerToken() * tokens;
  double attention = 0;  // Q Kᵀ and P V: 2 x 2 x L² x hidden a layer
  for (int s = 0; s < batch.sequences(); ++s) {
    const double length = batch.length(s);
    attention += 4.0 * length * length * config_.hidden_size;
  }
  return flops + attention * config_.num_layers;
}

}  // namespace hagane::nn
