#include "cli/bench_models.h"

#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"

namespace hagane::cli {

nlohmann::ordered_json BenchModelConfig(const std::string& name) {
  if (name == "distilbert") {
    return {{"model_type", "distilbert"},
            {"dim", 768},
            {"n_layers", 6},
            {"n_heads", 12},
            {"hidden_dim", 3072}};
  }
  struct Shape {
    const char* name;
    int layers, hidden, heads;
  };
  for (const Shape& shape : {Shape{"minilm", 6, 384, 12}, Shape{"bert-base", 12, 768, 12},
                             Shape{"bert-large", 24, 1024, 16}}) {
    if (name != shape.name) continue;
    return {{"model_type", "bert"},
            {"hidden_size", shape.hidden},
            {"num_hidden_layers", shape.layers},
            {"num_attention_heads", shape.heads},
            {"intermediate_size", 4 * shape.hidden}};
  }
  throw UsageError("no shape is known for the model \"" + name + "\"",
                   "known: " + std::string(kBenchModels));
}

std::unique_ptr<nn::Model> MakeBenchModel(const RunContext& ctx, const std::string& name,
                                          ProblemType problem, bool bf16) {
  nn::ModelOptions options;
  options.problem = problem;
  options.bf16 = bf16;
  options.init_from_scratch = true;
  nn::LoadReport report;
  return nn::LoadModel(ctx, {}, BenchModelConfig(name), name, options, &report);
}

PackedBatch MakeBenchBatch(std::span<const int32_t> lengths, const nn::EncoderConfig& config) {
  std::mt19937 engine(7);
  const auto below = [&](int32_t bound) {
    return static_cast<int32_t>(engine() % static_cast<uint32_t>(bound));
  };
  PackedBatch batch;
  batch.Clear();
  for (size_t s = 0; s < lengths.size(); ++s) {
    const auto sample = static_cast<uint32_t>(s);
    for (int32_t i = 0; i < lengths[s]; ++i) {
      batch.ids.push_back(below(config.vocab_size));
      batch.positions.push_back(config.position_offset + i);
      batch.segments.push_back(config.type_vocab_size > 1 && i > lengths[s] / 2 ? 1 : 0);
      batch.token_sample.push_back(sample);
      batch.token_index.push_back(static_cast<uint32_t>(i));
    }
    batch.cu_seqlens.push_back(batch.cu_seqlens.back() + lengths[s]);
    batch.samples.push_back(sample);
    batch.class_labels.push_back(below(2));
    batch.start_labels.push_back(below(lengths[s]));
    batch.end_labels.push_back(below(lengths[s]));
  }
  return batch;
}

}  // namespace hagane::cli
