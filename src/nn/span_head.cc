#include "nn/span_head.h"

#include "base/error.h"
#include "base/profile.h"
#include "kernels/convert.h"
#include "kernels/loss.h"

namespace hagane::nn {

using kernels::DropoutSite;

SpanHead::SpanHead(const EncoderConfig& encoder, const Config& config, const ModelOptions& options,
                   ParameterSet* parameters)
    : config_(config), layer_(encoder.num_layers) {
  HAGANE_CHECK(options.outputs == 2, "a span has a start and an end");
  out_ = DeclareLinear(parameters, "qa_outputs", encoder.hidden_size, options.outputs, true);
}

kernels::DropoutSpec SpanHead::DropoutOf(const Step& step) const {
  return step.Dropout(config_.dropout, layer_, DropoutSite::kHeadInput);
}

double SpanHead::LinearFlops(const PackedBatch& batch) const {
  return 2.0 * static_cast<double>(out_.in * out_.out) * batch.tokens();
}

SpanHead::Saved SpanHead::Plan(Arena* arena, const Stream& x, int64_t tokens,
                               bool bf16_operands) const {
  Saved saved;
  saved.x = x.value;
  saved.input = config_.dropout > 0 ? Stream::Take(arena, tokens * out_.in, bf16_operands) : x;
  saved.logits = arena->Take<float>(tokens * out_.out);
  saved.dlogits = arena->Take<float>(tokens * out_.out);
  saved.dlogits_operand.f32 = saved.dlogits;
  if (bf16_operands) saved.dlogits_operand = arena->TakeOperand(tokens * out_.out, true);
  return saved;
}

void SpanHead::Forward(const Step& step, const Saved& saved) const {
  const ProfilePart part(step.ctx, "head");
  const int64_t rows = step.tokens();
  if (config_.dropout > 0) {
    kernels::Dropout(step.ctx, DropoutOf(step), step.token_keys(), rows, out_.in, saved.x,
                     saved.input.value, saved.input.operand.b16);
  }
  out_.ForwardWithBias(step.ctx, *step.parameters, rows, saved.input.operand,
                       {saved.logits, nullptr});
}

void SpanHead::Backward(const Step& step, const Saved& saved, float* /*scratch*/, float* dx) const {
  const RunContext& ctx = step.ctx;
  const ProfilePart part(ctx, "head");
  ParameterSet* const parameters = step.parameters;
  const int64_t rows = step.tokens();
  if (saved.dlogits_operand.b16 != nullptr) {
    kernels::ToBf16(ctx, rows * out_.out, saved.dlogits, saved.dlogits_operand.b16);
  }
  kernels::AddColumnSums(ctx, rows, out_.out, out_.out, saved.dlogits, parameters->grad(out_.bias));
  out_.BackwardWeight(ctx, parameters, rows, saved.dlogits_operand, saved.input.operand);
  out_.BackwardInput(ctx, *parameters, rows, saved.dlogits_operand, dx);
  if (config_.dropout > 0) {
    kernels::Dropout(ctx, DropoutOf(step), step.token_keys(), rows, out_.in, dx, dx, nullptr);
  }
}

double SpanHead::Loss(const PackedBatch& batch, double scale, const float* logits,
                      float* dlogits) const {
  return kernels::SpanCrossEntropy(batch.sequences(), batch.cu_seqlens.data(), logits,
                                   batch.start_labels.data(), batch.end_labels.data(), scale,
                                   dlogits);
}

}  // namespace hagane::nn
