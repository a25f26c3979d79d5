// Loading by the names that checkpoints use: prefixes, old LayerNorm names, missing and odd
// tensors.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "io/tensor_file.h"
#include "tests/nn/small_models.h"

namespace hagane::nn {
namespace {

class Weights : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        ("weights_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
    ctx_ = TestContext();
    model_ = SmallModel(ctx_, "bert", ModelOptions{});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The model's tensors under other names; an empty name leaves a tensor out.
  template <class Rename>
  void Save(Rename rename) {
    std::vector<io::TensorToWrite> tensors;
    for (const Parameter& p : model_->parameters().list()) {
      const std::string name = rename(p.name);
      if (name.empty()) continue;
      const float* begin = model_->parameters().values() + p.offset;
      tensors.push_back({name, io::DType::kF32, p.shape,
                         std::as_bytes(std::span(begin, static_cast<size_t>(p.size)))});
    }
    io::WriteSafetensors(folder_ / "model.safetensors", tensors, {{"format", "pt"}});
  }
  std::unique_ptr<Model> Load(ModelOptions options, LoadReport* report) {
    return LoadModel(ctx_, folder_, SmallConfig("bert"), "config.json", options, report);
  }
  void ExpectSameValues(const Model& other, const std::string& but_not = "~") {
    for (const Parameter& p : model_->parameters().list()) {
      if (p.name.rfind(but_not, 0) == 0) continue;
      const float* a = model_->parameters().values() + p.offset;
      const float* b = other.parameters().values() + p.offset;
      EXPECT_TRUE(std::equal(a, a + p.size, b)) << p.name;
    }
  }
  std::string MessageOf(ModelOptions options) {
    LoadReport report;
    try {
      Load(options, &report);
    } catch (const Error& error) {
      return error.what();
    }
    return "loaded";
  }

  std::filesystem::path folder_;
  RunContext ctx_;
  std::unique_ptr<Model> model_;
};

TEST_F(Weights, SavedModelLoadsBack) {
  SaveWeights(model_->parameters(), model_->parameters().values(), folder_ / "model.safetensors");
  LoadReport report;
  const auto loaded = Load(ModelOptions{}, &report);
  ExpectSameValues(*loaded);
  EXPECT_EQ(report.loaded, static_cast<int64_t>(model_->parameters().list().size()));
  EXPECT_TRUE(report.initialized.empty());
  EXPECT_TRUE(report.unused.empty());
}

TEST_F(Weights, GammaBetaModuleAndBareNamesAreUnderstood) {
  const auto replace = [](std::string name, const std::string& from, const std::string& to) {
    const size_t at = name.find(from);
    return at == std::string::npos ? name : name.replace(at, from.size(), to);
  };
  const auto old_norm = [&](std::string name) {
    return replace(replace(name, "LayerNorm.weight", "LayerNorm.gamma"), "LayerNorm.bias",
                   "LayerNorm.beta");
  };
  LoadReport report;
  Save(old_norm);
  ExpectSameValues(*Load(ModelOptions{}, &report));
  Save([&](std::string name) { return "module." + old_norm(name); });
  ExpectSameValues(*Load(ModelOptions{}, &report));
  // A bare encoder has neither prefix nor classifier.
  Save([&](std::string name) {
    return name.rfind("bert.", 0) == 0 ? name.substr(5) : std::string();
  });
  LoadReport bare;
  ExpectSameValues(*Load(ModelOptions{}, &bare), "classifier");
  EXPECT_EQ(bare.initialized, (std::vector<std::string>{"classifier.weight", "classifier.bias"}));
}

TEST_F(Weights, MissingEncoderTensorStopsAndIsNamed) {
  const std::string gone = "bert.encoder.layer.1.output.dense.weight";
  Save([&](std::string name) { return name == gone ? std::string() : name; });
  EXPECT_NE(MessageOf(ModelOptions{}).find(gone), std::string::npos);
}

TEST_F(Weights, ATensorThatIsNotFiniteStopsAndIsNamed) {
  const Parameter& last = model_->parameters().list().back();
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    model_->parameters().values()[last.offset + last.size - 1] = bad;
    SaveWeights(model_->parameters(), model_->parameters().values(), folder_ / "model.safetensors");
    LoadReport report;
    try {
      Load(ModelOptions{}, &report);
      ADD_FAILURE() << bad << " was loaded";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(last.name), std::string::npos) << error.what();
    }
  }
}

TEST_F(Weights, MissingPoolerIsNewAndReported) {
  Save([&](std::string name) {
    return name.find("pooler") != std::string::npos ? std::string() : name;
  });
  LoadReport report;
  Load(ModelOptions{}, &report);
  EXPECT_EQ(report.initialized,
            (std::vector<std::string>{"bert.pooler.dense.weight", "bert.pooler.dense.bias"}));
}

TEST_F(Weights, HeadOfAnotherShapeNeedsTheFlag) {
  Save([](std::string name) { return name; });
  ModelOptions options;
  options.outputs = 5;
  const std::string message = MessageOf(options);
  EXPECT_NE(message.find("classifier.weight"), std::string::npos) << message;
  EXPECT_NE(message.find("2x16"), std::string::npos) << message;
  EXPECT_NE(message.find("5x16"), std::string::npos) << message;
  options.ignore_mismatched_sizes = true;
  LoadReport report;
  const auto loaded = Load(options, &report);
  EXPECT_EQ(report.mismatched.size(), 2u);
  EXPECT_EQ(loaded->parameters().Find("classifier.weight")->shape, (std::vector<int64_t>{5, 16}));
}

TEST_F(Weights, UnusedTensorsAreListedAndPositionIdsAreNot) {
  std::vector<io::TensorToWrite> tensors;
  for (const Parameter& p : model_->parameters().list()) {
    const float* begin = model_->parameters().values() + p.offset;
    tensors.push_back({p.name, io::DType::kF32, p.shape,
                       std::as_bytes(std::span(begin, static_cast<size_t>(p.size)))});
  }
  const std::vector<int64_t> positions = {0, 1, 2};
  const std::vector<float> decoder(4, 1.0f);
  tensors.push_back({"bert.embeddings.position_ids",
                     io::DType::kI64,
                     {1, 3},
                     std::as_bytes(std::span(positions))});
  tensors.push_back(
      {"cls.predictions.bias", io::DType::kF32, {4}, std::as_bytes(std::span(decoder))});
  io::WriteSafetensors(folder_ / "model.safetensors", tensors, {{"format", "pt"}});
  LoadReport report;
  Load(ModelOptions{}, &report);
  EXPECT_EQ(report.unused, std::vector<std::string>{"cls.predictions.bias"});
}

}  // namespace
}  // namespace hagane::nn
