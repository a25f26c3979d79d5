#include "nn/sequence_classifier.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/loss.h"

namespace hagane::nn {

namespace {

EmbeddingNames WithPrefix(const std::string& prefix, EmbeddingNames names) {
  for (std::string* name :
       {&names.word, &names.position, &names.segment, &names.norm, &names.projection}) {
    if (!name->empty()) *name = prefix + *name;
  }
  return names;
}

LayerNames WithPrefix(const std::string& prefix, LayerNames names) {
  for (std::string* name :
       {&names.query, &names.key, &names.value, &names.attention_output, &names.attention_norm,
        &names.intermediate, &names.output, &names.output_norm}) {
    *name = prefix + *name;
  }
  return names;
}

}  // namespace

SequenceClassifier::SequenceClassifier(const RunContext& ctx, const Family& family,
                                       const EncoderConfig& encoder, const HeadConfig& head,
                                       const ModelOptions& options)
    : ctx_(ctx), config_(encoder), options_(options) {
  embeddings_ = std::make_unique<Embeddings>(
      config_, WithPrefix(family.base_prefix, family.embeddings), &parameters_);
  layers_.reserve(static_cast<size_t>(config_.num_layers));
  for (int i = 0; i < config_.num_layers; ++i) {
    const bool last = i + 1 == config_.num_layers;
    layers_.emplace_back(config_, WithPrefix(family.base_prefix, family.layer_names(i)), i, last,
                         &parameters_);
  }
  head_ = std::make_unique<ClassificationHead>(config_, head, options.outputs, &parameters_);
  parameters_.Allocate(options.bf16);
}

SequenceClassifier::Plan SequenceClassifier::MakePlan(Arena* arena, int64_t tokens,
                                                      int64_t sequences, bool training) const {
  const bool bf16_operands = options_.bf16;
  Plan plan;
  plan.embeddings = embeddings_->Plan(arena, tokens, bf16_operands);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const bool shares = !training && i >= 2 && i + 1 < layers_.size();
    plan.layers.push_back(shares ? plan.layers[i - 2]
                                 : layers_[i].Plan(arena, tokens, sequences, bf16_operands));
    plan.layers[i].x = i == 0 ? plan.embeddings.out : plan.layers[i - 1].y2;
    if (plan.layers[i].tail_x == nullptr) plan.layers[i].tail_x = plan.layers[i].x.value;
  }
  plan.head = head_->Plan(arena, sequences, bf16_operands);
  if (training) {
    plan.work = EncoderLayer::PlanWorkspace(config_, arena, tokens, bf16_operands);
    plan.gradient = arena->Take<float>(tokens * config_.hidden_size);
  }
  return plan;
}

size_t SequenceClassifier::ActivationBytes(int64_t tokens, int64_t sequences, bool training) const {
  Arena ruler;
  ruler.Reset(/*measure=*/true);
  MakePlan(&ruler, tokens, sequences, training);
  return ruler.used();
}

void SequenceClassifier::Reserve(int64_t tokens, int64_t sequences, bool training) {
  arena_.Reserve(ActivationBytes(tokens, sequences, training));
  if (zeros_.size() < static_cast<size_t>(sequences)) {
    zeros_.assign(static_cast<size_t>(sequences), 0);
  }
}

SequenceClassifier::Plan SequenceClassifier::Prepare(int64_t tokens, int64_t sequences,
                                                     bool training) {
  Reserve(tokens, sequences, training);
  arena_.Reset();
  return MakePlan(&arena_, tokens, sequences, training);
}

Step SequenceClassifier::MakeStep(const PackedBatch& batch, const DropoutKey& dropout) {
  return {ctx_, batch, dropout, &parameters_, zeros_.data()};
}

void SequenceClassifier::Forward(const Step& step, Plan* plan) const {
  embeddings_->Forward(step, plan->embeddings);
  for (size_t i = 0; i < layers_.size(); ++i) layers_[i].Forward(step, plan->layers[i]);
  head_->Forward(step, plan->layers.back().y2, plan->head);
}

double SequenceClassifier::Loss(const PackedBatch& batch, double scale,
                                const ClassificationHead::Saved& head, float* dlogits) const {
  const int64_t rows = batch.sequences();
  const int64_t outputs = options_.outputs;
  switch (options_.problem) {
    case ProblemType::kSingleLabel:
      return kernels::SoftmaxCrossEntropy(rows, outputs, head.logits, batch.class_labels.data(),
                                          options_.label_smoothing, scale, dlogits);
    case ProblemType::kRegression:
      return kernels::SquaredError(rows, outputs, head.logits, batch.float_labels.data(), scale,
                                   dlogits);
    case ProblemType::kMultiLabel:
      return kernels::BinaryCrossEntropy(rows, outputs, head.logits, batch.float_labels.data(),
                                         scale, dlogits);
    case ProblemType::kSpan:
      break;
  }
  HAGANE_CHECK(false, "problem type");
  return 0;
}

double SequenceClassifier::ForwardBackward(const PackedBatch& batch, const DropoutKey& dropout,
                                           double scale, std::span<float> logits,
                                           const GradientReady& ready) {
  if (batch.sequences() == 0) return 0.0;
  Plan plan = Prepare(batch.tokens(), batch.sequences(), true);
  const Step step = MakeStep(batch, dropout);
  Forward(step, &plan);
  const double loss = Loss(batch, scale, plan.head, plan.head.dlogits);
  if (!logits.empty()) std::copy_n(plan.head.logits, logits.size(), logits.begin());

  int64_t end = parameters_.flat_size();
  const auto finished = [&](int64_t begin) {
    if (ready) ready(begin, end);
    end = begin;
  };
  head_->Backward(step, plan.head, plan.work.d_context, plan.gradient);
  GradientPair gradient{plan.gradient, nullptr};
  for (size_t i = layers_.size(); i-- > 0;) {
    // The head's gradients go out with the last layer's: few values.
    gradient = layers_[i].Backward(step, plan.layers[i], plan.work, gradient);
    finished(layers_[i].first_parameter());
  }
  embeddings_->Backward(step, plan.embeddings, plan.work, gradient);
  finished(0);
  return loss;
}

double SequenceClassifier::Evaluate(const PackedBatch& batch, std::span<float> logits) {
  if (batch.sequences() == 0) return 0.0;
  Plan plan = Prepare(batch.tokens(), batch.sequences(), false);
  const Step step = MakeStep(batch, DropoutKey{0, 0, false});
  Forward(step, &plan);
  HAGANE_CHECK(logits.size() ==
                   static_cast<size_t>(batch.sequences()) * static_cast<size_t>(options_.outputs),
               "logits have the wrong size");
  std::copy_n(plan.head.logits, logits.size(), logits.begin());
  const bool labelled = options_.problem == ProblemType::kSingleLabel
                            ? !batch.class_labels.empty() &&
                                  std::all_of(batch.class_labels.begin(), batch.class_labels.end(),
                                              [](int32_t label) { return label >= 0; })
                            : !batch.float_labels.empty();
  return labelled ? Loss(batch, 1.0, plan.head, nullptr) : 0.0;
}

double SequenceClassifier::ForwardFlops(const PackedBatch& batch) const {
  const double tokens = batch.tokens();
  double flops = embeddings_->LinearFlopsPerToken() * tokens +
                 head_->LinearFlopsPerSequence() * batch.sequences();
  for (const EncoderLayer& layer : layers_) flops += layer.LinearFlopsPerToken() * tokens;
  double attention = 0;  // Q Kᵀ and P V: 2 x 2 x L² x hidden a layer
  for (int s = 0; s < batch.sequences(); ++s) {
    const double length = batch.length(s);
    attention += 4.0 * length * length * config_.hidden_size;
  }
  return flops + attention * config_.num_layers;
}

}  // namespace hagane::nn
