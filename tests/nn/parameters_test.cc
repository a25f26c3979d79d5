#include "nn/parameters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/nn/small_models.h"

namespace hagane::nn {
namespace {

TEST(ParameterSet, QueryKeyAndValueAreNeighbours) {
  const RunContext ctx = TestContext();
  auto model = SmallModel(ctx, "bert", ModelOptions{});
  const std::string base = "bert.encoder.layer.1.attention.self.";
  for (const char* part : {".weight", ".bias"}) {
    const Parameter* query = model->parameters().Find(base + "query" + part);
    const Parameter* key = model->parameters().Find(base + "key" + part);
    const Parameter* value = model->parameters().Find(base + "value" + part);
    ASSERT_TRUE(query != nullptr && key != nullptr && value != nullptr);
    EXPECT_EQ(key->offset, query->offset + query->size);
    EXPECT_EQ(value->offset, key->offset + key->size);
  }
}

TEST(ParameterSet, OnlyBiasesAndLayerNormsDoNotDecay) {
  const RunContext ctx = TestContext();
  for (const char* family : {"bert", "distilbert", "roberta", "electra"}) {
    auto model = SmallModel(ctx, family, ModelOptions{});
    for (const Parameter& parameter : model->parameters().list()) {
      const std::string& name = parameter.name;
      const bool norm = name.find("LayerNorm") != std::string::npos ||
                        name.find("layer_norm") != std::string::npos;
      const bool bias = name.find("bias") != std::string::npos;
      EXPECT_EQ(parameter.decay, !norm && !bias) << name;
    }
  }
}

TEST(ParameterSet, InitialValuesDependOnSeedAndNameAlone) {
  const RunContext ctx = TestContext();
  ModelOptions options;
  LoadReport report;
  options.init_from_scratch = true;
  const auto load = [&](uint64_t seed, int layers) {
    options.seed = seed;
    auto config = SmallConfig("bert");
    config["num_hidden_layers"] = layers;
    return LoadModel(ctx, "", config, "config.json", options, &report);
  };
  const auto classifier = [](const Model& model) {
    const Parameter* p = model.parameters().Find("classifier.weight");
    return std::vector<float>(model.parameters().values() + p->offset,
                              model.parameters().values() + p->offset + p->size);
  };
  const auto first = classifier(*load(42, 2));
  EXPECT_EQ(first, classifier(*load(42, 3)));
  EXPECT_NE(first, classifier(*load(43, 2)));
}

TEST(ParameterSet, NormalStartHasTheConfiguredSpreadAndAZeroPadRow) {
  const RunContext ctx = TestContext();
  auto config = SmallConfig("bert");
  config["vocab_size"] = 4000;
  config["initializer_range"] = 0.02;
  ModelOptions options;
  options.init_from_scratch = true;
  LoadReport report;
  auto model = LoadModel(ctx, "", config, "config.json", options, &report);
  const Parameter* words = model->parameters().Find("bert.embeddings.word_embeddings.weight");
  const float* values = model->parameters().values() + words->offset;
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < words->size; ++i) {
    sum += values[i];
    squares += double{values[i]} * values[i];
  }
  const double n = static_cast<double>(words->size);
  EXPECT_NEAR(sum / n, 0.0, 3e-4);
  EXPECT_NEAR(std::sqrt(squares / n), 0.02, 3e-4);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(values[i], 0.0f);
}

TEST(Config, RefusesWhatIsNotSupportedByName) {
  const auto message = [](nlohmann::ordered_json config) -> std::string {
    try {
      ParseEncoderConfig(config, "dir/config.json");
    } catch (const Error& error) {
      return error.what() + std::string(" | ") + error.hint();
    }
    return "accepted";
  };
  auto config = SmallConfig("bert");
  EXPECT_EQ(message(config), "accepted");
  config["position_embedding_type"] = "relative_key";
  EXPECT_NE(message(config).find("relative_key"), std::string::npos);
  config = SmallConfig("gpt2");
  EXPECT_NE(message(config).find("gpt2"), std::string::npos);
  EXPECT_NE(message(config).find("bert, distilbert, electra, roberta"), std::string::npos);
  config = SmallConfig("bert");
  config["hidden_size"] = "big";
  EXPECT_NE(message(config).find("hidden_size"), std::string::npos);
  EXPECT_NE(message(config).find("dir/config.json"), std::string::npos);
  config["hidden_size"] = 15;
  EXPECT_NE(message(config).find("not a multiple of the 2 attention heads"), std::string::npos);
  config["hidden_size"] = -16;
  EXPECT_NE(message(config).find("-16"), std::string::npos);
  config = SmallConfig("bert");
  config["hidden_act"] = "mish";
  EXPECT_NE(message(config).find("mish"), std::string::npos);
}

TEST(Config, LongestSequenceOfRobertaLeavesOutThePadPositions) {
  auto config = SmallConfig("roberta");
  config["max_position_embeddings"] = 514;
  EXPECT_EQ(ParseEncoderConfig(config, "config.json").longest_sequence(), 512);
  EXPECT_EQ(ParseEncoderConfig(config, "config.json").position_offset, 2);
}

}  // namespace
}  // namespace hagane::nn
