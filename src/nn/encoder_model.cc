#include "nn/encoder_model.h"

#include <algorithm>

#include "base/error.h"

namespace hagane::nn {

template <class Head>
EncoderModel<Head>::EncoderModel(const RunContext& ctx, const Family& family,
                                 const EncoderConfig& encoder, const typename Head::Config& head,
                                 const ModelOptions& options)
    : ctx_(ctx),
      config_(encoder),
      options_(options),
      encoder_(family, config_, Head::kFirstTokensOnly, &parameters_),
      head_(config_, head, options_, &parameters_) {
  parameters_.Allocate(options.bf16);
}

template <class Head>
typename EncoderModel<Head>::Plan EncoderModel<Head>::MakePlan(Arena* arena, int64_t tokens,
                                                               int64_t sequences,
                                                               bool training) const {
  Plan plan;
  plan.encoder = encoder_.Plan(arena, tokens, sequences, options_.bf16, training);
  plan.head = head_.Plan(arena, plan.encoder.output(), Head::kFirstTokensOnly ? sequences : tokens,
                         options_.bf16);
  return plan;
}

template <class Head>
size_t EncoderModel<Head>::ActivationBytes(int64_t tokens, int64_t sequences, bool training) const {
  Arena ruler;
  ruler.Reset(/*measure=*/true);
  MakePlan(&ruler, tokens, sequences, training);
  return ruler.used();
}

template <class Head>
void EncoderModel<Head>::Reserve(int64_t tokens, int64_t sequences, bool training) {
  arena_.Reserve(ActivationBytes(tokens, sequences, training));
  if (zeros_.size() < static_cast<size_t>(sequences)) {
    zeros_.assign(static_cast<size_t>(sequences), 0);
  }
}

template <class Head>
Step EncoderModel<Head>::MakeStep(const PackedBatch& batch, const DropoutKey& dropout,
                                  bool training) {
  Reserve(batch.tokens(), batch.sequences(), training);
  return {ctx_, batch, dropout, &parameters_, zeros_.data()};
}

template <class Head>
typename EncoderModel<Head>::Plan EncoderModel<Head>::Forward(const Step& step, bool training,
                                                              std::span<float> logits) {
  arena_.Reset();
  const Plan plan = MakePlan(&arena_, step.tokens(), step.sequences(), training);
  encoder_.Forward(step, plan.encoder);
  head_.Forward(step, plan.head);
  if (logits.empty()) return plan;
  HAGANE_CHECK(logits.size() == static_cast<size_t>(LogitRows(step.batch)) *
                                    static_cast<size_t>(options_.outputs),
               "logits have the wrong size");
  std::copy_n(plan.head.logits, logits.size(), logits.begin());
  return plan;
}

template <class Head>
double EncoderModel<Head>::ForwardBackward(const PackedBatch& batch, const DropoutKey& dropout,
                                           double scale, std::span<float> logits,
                                           const GradientReady& ready) {
  if (batch.sequences() == 0) return 0.0;
  const Step step = MakeStep(batch, dropout, true);
  const Plan plan = Forward(step, true, logits);
  const double loss = head_.Loss(batch, scale, plan.head.logits, plan.head.dlogits);
  head_.Backward(step, plan.head, plan.encoder.work.d_context, plan.encoder.gradient);
  encoder_.Backward(step, plan.encoder, ready);
  return loss;
}

template <class Head>
double EncoderModel<Head>::Evaluate(const PackedBatch& batch, std::span<float> logits) {
  if (batch.sequences() == 0) return 0.0;
  const Step step = MakeStep(batch, DropoutKey{0, 0, false}, false);
  const Plan plan = Forward(step, false, logits);
  return head_.HasLabels(batch) ? head_.Loss(batch, 1.0, plan.head.logits, nullptr) : 0.0;
}

template class EncoderModel<ClassificationHead>;
template class EncoderModel<SpanHead>;

}  // namespace hagane::nn
