// Gradients of whole models against central differences of the loss, with dropout on: its masks are
// a function of the step, so the loss is one too.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/nn/small_models.h"

namespace hagane::nn {
namespace {

struct Setting {
  std::string model_type;
  ProblemType problem;
  int outputs;
  float label_smoothing;
};

class Gradient : public testing::TestWithParam<Setting> {
 protected:
  static ModelOptions OptionsOf(const Setting& setting) {
    ModelOptions options;
    options.problem = setting.problem;
    options.outputs = setting.outputs;
    options.label_smoothing = setting.label_smoothing;
    return options;
  }
};

TEST_P(Gradient, EveryTensorMatchesCentralDifferences) {
  const RunContext ctx = TestContext();
  auto model = SmallModel(ctx, GetParam().model_type, OptionsOf(GetParam()));
  ParameterSet& parameters = model->parameters();
  const PackedBatch batch = SmallBatch(*model, {5, 1, 9, 3});
  const DropoutKey key{11, 3, true};
  const auto loss = [&] { return model->ForwardBackward(batch, key, 1.0, {}, nullptr); };

  parameters.ZeroGrads(ctx);
  loss();
  const std::vector<float> gradient(parameters.grads(),
                                    parameters.grads() + parameters.flat_size());
  double norm_of_all = 0;
  for (float g : gradient) norm_of_all += double{g} * g;
  norm_of_all = std::sqrt(norm_of_all);
  ASSERT_GT(norm_of_all, 1e-3);

  std::mt19937 engine(5);
  std::normal_distribution<float> normal;
  for (const Parameter& parameter : parameters.list()) {
    // Along a random direction of unit length in this tensor.
    std::vector<float> direction(static_cast<size_t>(parameter.size));
    double length = 0;
    for (float& d : direction) {
      d = normal(engine);
      length += double{d} * d;
    }
    float* const values = parameters.values() + parameter.offset;
    const std::vector<float> start(values, values + parameter.size);
    double expected = 0;
    for (size_t i = 0; i < direction.size(); ++i) {
      direction[i] /= static_cast<float>(std::sqrt(length));
      expected += double{direction[i]} * gradient[static_cast<size_t>(parameter.offset) + i];
    }
    if (parameter.name.find("word_embeddings") != std::string::npos) {
      // The pad row has no gradient by rule; no token of the batch is the pad id.
      EXPECT_EQ(gradient[static_cast<size_t>(parameter.offset)], 0.0f);
    }
    const float step = 1e-2f;
    double moved[2];
    for (int side = 0; side < 2; ++side) {
      for (size_t i = 0; i < direction.size(); ++i) {
        values[i] = start[i] + (side == 0 ? step : -step) * direction[i];
      }
      moved[side] = loss();
    }
    std::copy(start.begin(), start.end(), values);
    const double measured = (moved[0] - moved[1]) / (2.0 * static_cast<double>(step));
    EXPECT_NEAR(measured, expected, 2e-3 * std::abs(expected) + 2e-4 * norm_of_all)
        << parameter.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Gradient,
                         testing::Values(Setting{"bert", ProblemType::kSingleLabel, 3, 0.0f},
                                         Setting{"distilbert", ProblemType::kSingleLabel, 2, 0.0f},
                                         Setting{"roberta", ProblemType::kSingleLabel, 3, 0.0f},
                                         Setting{"electra", ProblemType::kSingleLabel, 3, 0.0f},
                                         Setting{"bert", ProblemType::kRegression, 1, 0.0f},
                                         Setting{"bert", ProblemType::kMultiLabel, 4, 0.0f},
                                         Setting{"bert", ProblemType::kSpan, 2, 0.0f},
                                         Setting{"distilbert", ProblemType::kSpan, 2, 0.0f},
                                         Setting{"roberta", ProblemType::kSpan, 2, 0.0f},
                                         Setting{"electra", ProblemType::kSpan, 2, 0.0f},
                                         Setting{"bert", ProblemType::kSingleLabel, 3, 0.1f}),
                         [](const auto& test) {
                           return test.param.model_type + "_" +
                                  std::to_string(static_cast<int>(test.param.problem)) +
                                  (test.param.label_smoothing > 0 ? "_smoothed" : "");
                         });

std::vector<float> GradientOf(const RunContext& ctx, const std::vector<int>& lengths, bool bf16,
                              uint32_t first_sample = 0,
                              ProblemType problem = ProblemType::kSingleLabel) {
  ModelOptions options;
  options.problem = problem;
  options.outputs = problem == ProblemType::kSpan ? 2 : 3;
  options.bf16 = bf16;
  // DistilBERT has dropout in front of its span head.
  auto model = SmallModel(ctx, problem == ProblemType::kSpan ? "distilbert" : "bert", options);
  model->parameters().ZeroGrads(ctx);
  model->ForwardBackward(SmallBatch(*model, lengths, first_sample), {1, 2, true}, 0.25, {},
                         nullptr);
  return {model->parameters().grads(),
          model->parameters().grads() + model->parameters().flat_size()};
}

constexpr ProblemType kBothHeads[] = {ProblemType::kSingleLabel, ProblemType::kSpan};

TEST(Model, BitsDoNotDependOnThreads) {
  for (const ProblemType problem : kBothHeads) {
    for (const bool bf16 : {false, true}) {
      const auto gradient = [&](int threads) {
        return GradientOf(TestContext(threads), {7, 12, 1, 18, 4, 9}, bf16, 0, problem);
      };
      const auto one = gradient(1);
      EXPECT_EQ(one, gradient(2));
      EXPECT_EQ(one, gradient(3));
    }
  }
}

TEST(Model, GradientOfABatchIsTheSumOverItsSequences) {
  const RunContext ctx = TestContext();
  const std::vector<int> lengths = {7, 12, 3};
  for (const ProblemType problem : kBothHeads) {
    const auto together = GradientOf(ctx, lengths, false, 0, problem);
    std::vector<double> sum(together.size(), 0.0);
    for (uint32_t s = 0; s < 3; ++s) {
      const auto alone = GradientOf(ctx, {lengths[s]}, false, s, problem);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += double{alone[i]};
    }
    for (size_t i = 0; i < sum.size(); ++i) {
      ASSERT_NEAR(together[i], sum[i], 1e-5 + 1e-4 * std::abs(sum[i])) << i;
    }
  }
}

TEST(Model, GradientReadyCoversTheBufferFromTheEnd) {
  const RunContext ctx = TestContext();
  auto model = SmallModel(ctx, "bert", ModelOptions{});
  int64_t expected_end = model->parameters().flat_size();
  model->ForwardBackward(SmallBatch(*model, {4, 4}), {1, 1, true}, 1.0, {},
                         [&](int64_t begin, int64_t end) {
                           EXPECT_EQ(end, expected_end);
                           EXPECT_LE(begin, end);
                           expected_end = begin;
                         });
  EXPECT_EQ(expected_end, 0);
}

TEST(Model, EvaluationEqualsTrainingForwardWithoutDropout) {
  const RunContext ctx = TestContext();
  for (const ProblemType problem : kBothHeads) {
    ModelOptions options;
    options.problem = problem;
    for (const char* family : {"bert", "distilbert", "roberta", "electra"}) {
      auto model = SmallModel(ctx, family, options);
      const PackedBatch batch = SmallBatch(*model, {6, 2, 11});
      const auto logits = static_cast<size_t>(model->LogitRows(batch) * 2);
      EXPECT_EQ(logits, problem == ProblemType::kSpan ? 38u : 6u);
      std::vector<float> trained(logits), evaluated(logits);
      const double loss = model->ForwardBackward(batch, {1, 1, false}, 1.0, trained, nullptr);
      EXPECT_GT(loss, 0);
      EXPECT_EQ(model->Evaluate(batch, evaluated), loss);
      EXPECT_EQ(trained, evaluated);
    }
  }
}

TEST(Model, ArenaBytesAreWhatReserveTakes) {
  const RunContext ctx = TestContext();
  auto model = SmallModel(ctx, "bert", ModelOptions{});
  EXPECT_GT(model->ActivationBytes(100, 10, true), model->ActivationBytes(50, 5, true));
  EXPECT_GT(model->ActivationBytes(100, 10, true), model->ActivationBytes(100, 10, false));
}

}  // namespace
}  // namespace hagane::nn
