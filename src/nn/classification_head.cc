#include "nn/classification_head.h"

#include <algorithm>

#include "base/error.h"
#include "base/profile.h"
#include "kernels/activation.h"
#include "kernels/convert.h"
#include "kernels/loss.h"

namespace hagane::nn {

using kernels::DropoutSite;

ClassificationHead::ClassificationHead(const EncoderConfig& encoder, const Config& config,
                                       const ModelOptions& options, ParameterSet* parameters)
    : config_(config),
      problem_(options.problem),
      label_smoothing_(options.label_smoothing),
      layer_(encoder.num_layers) {
  const int64_t hidden = encoder.hidden_size;
  dense_ = DeclareLinear(parameters, config.dense_name, hidden, hidden, true);
  out_ = DeclareLinear(parameters, config.out_name, hidden, options.outputs, true);
}

double ClassificationHead::LinearFlops(const PackedBatch& batch) const {
  return 2.0 * static_cast<double>(dense_.in * dense_.out + out_.in * out_.out) * batch.sequences();
}

double ClassificationHead::Loss(const PackedBatch& batch, double scale, const float* logits,
                                float* dlogits) const {
  const int64_t rows = batch.sequences();
  switch (problem_) {
    case ProblemType::kSingleLabel:
      return kernels::SoftmaxCrossEntropy(rows, out_.out, logits, batch.class_labels.data(),
                                          label_smoothing_, scale, dlogits);
    case ProblemType::kRegression:
      return kernels::SquaredError(rows, out_.out, logits, batch.float_labels.data(), scale,
                                   dlogits);
    case ProblemType::kMultiLabel:
      return kernels::BinaryCrossEntropy(rows, out_.out, logits, batch.float_labels.data(), scale,
                                         dlogits);
    case ProblemType::kSpan:
      break;
  }
  HAGANE_CHECK(false, "a classification head finds no spans");
  return 0;
}

bool ClassificationHead::HasLabels(const PackedBatch& batch) const {
  if (problem_ != ProblemType::kSingleLabel) return !batch.float_labels.empty();
  return !batch.class_labels.empty() &&
         std::all_of(batch.class_labels.begin(), batch.class_labels.end(),
                     [](int32_t label) { return label >= 0; });
}

ClassificationHead::Saved ClassificationHead::Plan(Arena* arena, const Stream& x, int64_t sequences,
                                                   bool bf16_operands) const {
  Saved saved;
  saved.x = x.value;
  saved.input = Stream::Take(arena, sequences * dense_.in, bf16_operands);
  saved.z = arena->Take<float>(sequences * dense_.out);
  saved.hidden = Stream::Take(arena, sequences * dense_.out, bf16_operands);
  saved.logits = arena->Take<float>(sequences * out_.out);
  saved.dlogits = arena->Take<float>(sequences * out_.out);
  saved.dlogits_operand.f32 = saved.dlogits;
  if (bf16_operands) {
    saved.dlogits_operand = arena->TakeOperand(sequences * out_.out, bf16_operands);
  }
  saved.dz = arena->TakeOperand(sequences * dense_.out, bf16_operands);
  return saved;
}

void ClassificationHead::Forward(const Step& step, const Saved& saved) const {
  const RunContext& ctx = step.ctx;
  const ProfilePart part(ctx, "head");
  const ParameterSet& parameters = *step.parameters;
  const int64_t rows = step.sequences();
  kernels::Dropout(ctx, step.Dropout(config_.input_dropout, layer_, DropoutSite::kHeadInput),
                   step.first_token_keys(), rows, dense_.in, saved.x, saved.input.value,
                   saved.input.operand.b16);
  dense_.Forward(ctx, parameters, rows, saved.input.operand, saved.z);
  kernels::ActivationForwardArgs activation;
  activation.rows = rows;
  activation.width = dense_.out;
  activation.activation = config_.activation;
  activation.h = saved.z;
  activation.bias = parameters.value(dense_.bias);
  activation.z = saved.z;
  activation.a = saved.hidden.value;
  kernels::ActivationForward(ctx, activation);
  kernels::Dropout(ctx, step.Dropout(config_.hidden_dropout, layer_, DropoutSite::kHeadHidden),
                   step.first_token_keys(), rows, dense_.out, saved.hidden.value,
                   saved.hidden.value, saved.hidden.operand.b16);
  out_.ForwardWithBias(ctx, parameters, rows, saved.hidden.operand, {saved.logits, nullptr});
}

void ClassificationHead::Backward(const Step& step, const Saved& saved, float* scratch,
                                  float* dx) const {
  const RunContext& ctx = step.ctx;
  const ProfilePart part(ctx, "head");
  ParameterSet* const parameters = step.parameters;
  const int64_t rows = step.sequences();
  if (saved.dlogits_operand.b16 != nullptr) {
    kernels::ToBf16(ctx, rows * out_.out, saved.dlogits, saved.dlogits_operand.b16);
  }
  kernels::AddColumnSums(ctx, rows, out_.out, out_.out, saved.dlogits, parameters->grad(out_.bias));
  out_.BackwardWeight(ctx, parameters, rows, saved.dlogits_operand, saved.hidden.operand);
  out_.BackwardInput(ctx, *parameters, rows, saved.dlogits_operand, scratch);
  kernels::Dropout(ctx, step.Dropout(config_.hidden_dropout, layer_, DropoutSite::kHeadHidden),
                   step.first_token_keys(), rows, dense_.out, scratch, scratch, nullptr);
  kernels::ActivationBackwardArgs activation;
  activation.rows = rows;
  activation.width = dense_.out;
  activation.activation = config_.activation;
  activation.da = scratch;
  activation.z = saved.z;
  activation.dz = saved.dz.f32;
  activation.dz_bf16 = saved.dz.b16;
  activation.dbias = parameters->grad(dense_.bias);
  kernels::ActivationBackward(ctx, activation);
  dense_.BackwardWeight(ctx, parameters, rows, saved.dz, saved.input.operand);
  dense_.BackwardInput(ctx, *parameters, rows, saved.dz, dx);
  kernels::Dropout(ctx, step.Dropout(config_.input_dropout, layer_, DropoutSite::kHeadInput),
                   step.first_token_keys(), rows, dense_.in, dx, dx, nullptr);
}

}  // namespace hagane::nn
