// The models of the oracle: loss, logits and every gradient, on one thread
// and on two (the same bits), and in bf16.
#include <gtest/gtest.h>

#include "base/run_context.h"
#include "cli/reference_check.h"

namespace hagane::cli {
namespace {

class VerifyTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(HAGANE_SHARED_DIR) / "oracle/models" / GetParam();
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << "no folder " << folder_;
  }
  ReferenceCheck Check(int threads, bool bf16) {
    NullLog log;
    RunContext ctx = MakeRunContext("", threads, log);
    ReferenceCheckOptions options;
    options.bf16 = bf16;
    return CheckAgainstReference(ctx, folder_, folder_ / "reference.safetensors", options);
  }

  std::filesystem::path folder_;
};

TEST_P(VerifyTest, LossLogitsAndGradientsEqualTheReferences) {
  const ReferenceCheck check = Check(1, false);
  EXPECT_LE(check.loss.error, check.loss.allowed);
  EXPECT_LE(check.logits.error, check.logits.allowed);
  EXPECT_TRUE(check.without_reference.empty());
  EXPECT_FALSE(check.gradients.empty());
  for (const Comparison& gradient : check.gradients) {
    EXPECT_LE(gradient.error, gradient.allowed) << gradient.name;
  }
}

TEST_P(VerifyTest, TwoThreadsGiveTheSameBits) {
  if (AvailableCores() < 2) GTEST_SKIP() << "one core only";
  for (const bool bf16 : {false, true}) {
    const ReferenceCheck one = Check(1, bf16);
    const ReferenceCheck two = Check(2, bf16);
    EXPECT_EQ(one.loss_value, two.loss_value);
    EXPECT_EQ(one.logit_values, two.logit_values);
    EXPECT_EQ(one.gradient_values, two.gradient_values);
  }
}

TEST_P(VerifyTest, Bf16LogitsStayWithinTheirRange) {
  const ReferenceCheck check = Check(1, true);
  EXPECT_LE(check.logits.error, check.logits.allowed);
  // Really another arithmetic than fp32.
  EXPECT_GT(check.logits.error, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Models, VerifyTest,
                         ::testing::Values("bert-glue", "bert-multilabel", "bert-regression",
                                           "distilbert-glue", "electra-glue", "roberta-glue",
                                           "bert-qa", "distilbert-qa", "roberta-qa"),
                         [](const auto& test) {
                           std::string name = test.param;
                           name.erase(name.find('-'), 1);
                           return name;
                         });

}  // namespace
}  // namespace hagane::cli
