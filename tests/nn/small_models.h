// Small random models of every family and a batch of odd lengths, for the tests of nn and train.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/packed_batch.h"
#include "base/run_context.h"
#include "nn/model.h"

namespace hagane::nn {

inline RunContext TestContext(int threads = 2, std::string isa = "") {
  static NullLog log;
  RunContext ctx = MakeRunContext(isa, 1, log);
  ctx.threads = threads;  // more threads than cores is fine for correctness
  return ctx;
}

inline nlohmann::ordered_json SmallConfig(const std::string& model_type) {
  nlohmann::ordered_json config = {{"model_type", model_type},
                                   {"initializer_range", 0.2},
                                   {"vocab_size", 50},
                                   {"max_position_embeddings", 20}};
  if (model_type == "distilbert") {
    config.update({{"dim", 16}, {"n_layers", 2}, {"n_heads", 2}, {"hidden_dim", 24}});
  } else {
    config.update({{"hidden_size", 16},
                   {"num_hidden_layers", 2},
                   {"num_attention_heads", 2},
                   {"intermediate_size", 24}});
  }
  if (model_type == "electra") config["embedding_size"] = 8;
  if (model_type == "roberta") config.update({{"type_vocab_size", 1}, {"pad_token_id", 1}});
  return config;
}

inline std::unique_ptr<Model> SmallModel(const RunContext& ctx, const std::string& model_type,
                                         ModelOptions options) {
  options.init_from_scratch = true;
  LoadReport report;
  auto model = LoadModel(ctx, "", SmallConfig(model_type), "config.json", options, &report);
  // Biases and LayerNorm weights start at constants; move them so that no gradient is special.
  std::mt19937 engine(1);
  std::normal_distribution<float> normal(0.0f, 0.1f);
  for (const Parameter& parameter : model->parameters().list()) {
    if (parameter.init == InitKind::kNormal) continue;
    for (int64_t i = 0; i < parameter.size; ++i) {
      model->parameters().values()[parameter.offset + i] += normal(engine);
    }
  }
  model->ParametersChanged();
  return model;
}

inline PackedBatch SmallBatch(const Model& model, const std::vector<int>& lengths,
                              uint32_t first_sample = 0) {
  PackedBatch batch;
  batch.Clear();
  const EncoderConfig& config = model.config();
  for (size_t s = 0; s < lengths.size(); ++s) {
    const auto sample = first_sample + static_cast<uint32_t>(s);
    std::mt19937 engine(sample + 7);
    for (int t = 0; t < lengths[s]; ++t) {
      batch.ids.push_back(static_cast<int32_t>(2 + engine() % 48));
      batch.positions.push_back(config.position_offset + t);
      batch.segments.push_back(config.type_vocab_size > 1 && t > lengths[s] / 2 ? 1 : 0);
      batch.token_sample.push_back(sample);
      batch.token_index.push_back(static_cast<uint32_t>(t));
    }
    batch.samples.push_back(sample);
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.ids.size()));
    const auto outputs = static_cast<unsigned>(model.options().outputs);
    if (model.options().problem == ProblemType::kSpan) {
      const auto length = static_cast<unsigned>(lengths[s]);
      batch.start_labels.push_back(static_cast<int32_t>(engine() % length));
      batch.end_labels.push_back(static_cast<int32_t>(engine() % length));
    } else if (model.options().problem == ProblemType::kSingleLabel) {
      batch.class_labels.push_back(static_cast<int32_t>(engine() % outputs));
    } else {
      for (unsigned o = 0; o < outputs; ++o) {
        batch.float_labels.push_back(static_cast<float>(engine() % 2));
      }
    }
  }
  return batch;
}

}  // namespace hagane::nn
