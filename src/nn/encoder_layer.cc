#include "nn/encoder_layer.h"

#include <algorithm>
#include <cstring>

#include "base/profile.h"
#include "kernels/activation.h"
#include "kernels/attention.h"
#include "kernels/convert.h"
#include "kernels/layer_norm.h"

namespace hagane::nn {

using kernels::DropoutSite;

namespace {

Parameter Named(std::string name, std::vector<int64_t> shape, InitKind init, bool decay,
                bool head) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.shape = std::move(shape);
  parameter.init = init;
  parameter.decay = decay;
  parameter.head = head;
  return parameter;
}

// Copies the first row of each sequence of x [tokens, width] to y [sequences, width].
template <class T>
void GatherFirstRows(const PackedBatch& batch, int64_t width, const T* x, T* y) {
  for (int s = 0; s < batch.sequences(); ++s) {
    std::memcpy(y + s * width, x + batch.cu_seqlens[static_cast<size_t>(s)] * width,
                static_cast<size_t>(width) * sizeof(T));
  }
}

// The way back: x [tokens, width] = 0 but for the first row of each sequence.
void ScatterFirstRows(const RunContext& ctx, const PackedBatch& batch, int64_t width,
                      const float* y, float* x) {
  kernels::Fill(ctx, batch.tokens() * width, 0.0f, x);
  for (int s = 0; s < batch.sequences(); ++s) {
    std::memcpy(x + batch.cu_seqlens[static_cast<size_t>(s)] * width, y + s * width,
                static_cast<size_t>(width) * sizeof(float));
  }
}

kernels::AttentionShape ShapeOf(const Step& step, const EncoderConfig& config, int layer) {
  kernels::AttentionShape shape;
  shape.sequences = step.batch.sequences();
  shape.cu_seqlens = step.batch.cu_seqlens.data();
  shape.samples = step.batch.samples.data();
  shape.heads = config.num_heads;
  shape.head_size = config.head_size();
  shape.dropout = step.Dropout(config.attention_dropout, layer, DropoutSite::kAttentionProbs);
  return shape;
}

}  // namespace

Linear DeclareLinear(ParameterSet* parameters, const std::string& name, int64_t in, int64_t out,
                     bool head) {
  Linear linear;
  linear.in = in;
  linear.out = out;
  linear.weight =
      parameters->Declare(Named(name + ".weight", {out, in}, InitKind::kNormal, true, head));
  linear.bias = parameters->Declare(Named(name + ".bias", {out}, InitKind::kZeros, false, head));
  return linear;
}

LayerNormParameters DeclareLayerNorm(ParameterSet* parameters, const std::string& name,
                                     int64_t width) {
  LayerNormParameters norm;
  norm.weight =
      parameters->Declare(Named(name + ".weight", {width}, InitKind::kOnes, false, false));
  norm.bias = parameters->Declare(Named(name + ".bias", {width}, InitKind::kZeros, false, false));
  return norm;
}

EncoderLayer::EncoderLayer(const EncoderConfig& config, const LayerNames& names, int index,
                           bool first_tokens_only, ParameterSet* parameters)
    : config_(config), index_(index), first_tokens_only_(first_tokens_only) {
  const int64_t hidden = config.hidden_size;
  qkv_.in = hidden;
  qkv_.out = 3 * hidden;
  bool follows = false;
  for (const std::string* name : {&names.query, &names.key, &names.value}) {
    const int weight = parameters->Declare(
        Named(*name + ".weight", {hidden, hidden}, InitKind::kNormal, true, false), follows);
    if (!follows) qkv_.weight = weight;
    follows = true;
  }
  follows = false;
  for (const std::string* name : {&names.query, &names.key, &names.value}) {
    const int bias = parameters->Declare(
        Named(*name + ".bias", {hidden}, InitKind::kZeros, false, false), follows);
    if (!follows) qkv_.bias = bias;
    follows = true;
  }
  first_parameter_ = parameters->list()[static_cast<size_t>(qkv_.weight)].offset;
  attention_output_ = DeclareLinear(parameters, names.attention_output, hidden, hidden, false);
  attention_norm_ = DeclareLayerNorm(parameters, names.attention_norm, hidden);
  intermediate_ =
      DeclareLinear(parameters, names.intermediate, hidden, config.intermediate_size, false);
  output_ = DeclareLinear(parameters, names.output, config.intermediate_size, hidden, false);
  output_norm_ = DeclareLayerNorm(parameters, names.output_norm, hidden);
}

double EncoderLayer::LinearFlopsPerToken() const {
  double flops = 0;
  for (const Linear* linear : {&qkv_, &attention_output_, &intermediate_, &output_}) {
    flops += 2.0 * static_cast<double>(linear->in) * static_cast<double>(linear->out);
  }
  return flops;
}

kernels::RowKeys EncoderLayer::RowKeysOf(const Step& step) const {
  return first_tokens_only_ ? step.first_token_keys() : step.token_keys();
}

EncoderLayer::Saved EncoderLayer::Plan(Arena* arena, int64_t tokens, int64_t sequences,
                                       bool bf16_operands) const {
  const int64_t hidden = config_.hidden_size;
  const int64_t rows = first_tokens_only_ ? sequences : tokens;
  Saved saved;
  saved.qkv = arena->TakeOperand(tokens * 3 * hidden, bf16_operands);
  saved.log_sum_exp = arena->Take<float>(tokens * config_.num_heads);
  saved.context = arena->TakeOperand(tokens * hidden, bf16_operands);
  saved.tail_context = saved.context;
  if (first_tokens_only_) {
    saved.tail_context = arena->TakeOperand(rows * hidden, bf16_operands);
    saved.tail_x = arena->Take<float>(rows * hidden);
  }
  saved.z1 = arena->Take<float>(rows * hidden);
  saved.mean1 = arena->Take<float>(rows);
  saved.rstd1 = arena->Take<float>(rows);
  saved.y1 = Stream::Take(arena, rows * hidden, bf16_operands);
  saved.z_ffn = arena->TakeOperand(rows * config_.intermediate_size, bf16_operands);
  saved.a_ffn = arena->TakeOperand(rows * config_.intermediate_size, bf16_operands);
  saved.z2 = arena->Take<float>(rows * hidden);
  saved.mean2 = arena->Take<float>(rows);
  saved.rstd2 = arena->Take<float>(rows);
  saved.y2 = Stream::Take(arena, rows * hidden, bf16_operands);
  return saved;
}

EncoderLayer::Workspace EncoderLayer::PlanWorkspace(const EncoderConfig& config, Arena* arena,
                                                    int64_t tokens, bool bf16_operands) {
  const int64_t hidden = config.hidden_size;
  Workspace work;
  work.dh = arena->TakeOperand(tokens * hidden, bf16_operands);
  work.dz_ffn = arena->TakeOperand(tokens * config.intermediate_size, bf16_operands);
  work.d_context = arena->Take<float>(tokens * std::max(hidden, int64_t{config.embedding_size}));
  work.spare = arena->Take<float>(tokens * hidden);
  work.dqkv = arena->TakeOperand(tokens * 3 * hidden, bf16_operands);
  return work;
}

void EncoderLayer::Forward(const Step& step, const Saved& saved) const {
  ForwardAttention(step, saved);
  ForwardFeedForward(step, saved);
}

void EncoderLayer::ForwardAttention(const Step& step, const Saved& saved) const {
  const RunContext& ctx = step.ctx;
  const ProfilePart part(ctx, "attention");
  const ParameterSet& parameters = *step.parameters;
  const int64_t hidden = config_.hidden_size;
  const int64_t rows = Rows(step);

  qkv_.ForwardWithBias(ctx, parameters, step.tokens(), saved.x.operand, saved.qkv);
  kernels::AttentionForwardArgs attention;
  attention.shape = ShapeOf(step, config_, index_);
  attention.qkv = saved.qkv.f32;
  attention.qkv_bf16 = saved.qkv.b16;
  attention.log_sum_exp = saved.log_sum_exp;
  attention.out = saved.context.f32;
  attention.out_bf16 = saved.context.b16;
  kernels::AttentionForward(ctx, attention);

  const float* residual = saved.x.value;
  if (first_tokens_only_) {
    GatherFirstRows(step.batch, hidden, saved.x.value, saved.tail_x);
    residual = saved.tail_x;
    if (saved.context.b16 != nullptr) {
      GatherFirstRows(step.batch, hidden, saved.context.b16, saved.tail_context.b16);
    } else {
      GatherFirstRows(step.batch, hidden, saved.context.f32, saved.tail_context.f32);
    }
  }
  attention_output_.Forward(ctx, parameters, rows, saved.tail_context, saved.z1);
  kernels::LayerNormForwardArgs norm;
  norm.rows = rows;
  norm.width = hidden;
  norm.h = saved.z1;
  norm.bias = parameters.value(attention_output_.bias);
  norm.residual = residual;
  norm.gamma = parameters.value(attention_norm_.weight);
  norm.beta = parameters.value(attention_norm_.bias);
  norm.eps = config_.layer_norm_eps;
  norm.dropout =
      step.Dropout(config_.attention_output_dropout, index_, DropoutSite::kAttentionOutput);
  norm.keys = RowKeysOf(step);
  norm.z = saved.z1;
  norm.mean = saved.mean1;
  norm.rstd = saved.rstd1;
  norm.y = saved.y1.value;
  norm.y_bf16 = saved.y1.operand.b16;
  kernels::LayerNormForward(ctx, norm);
}

void EncoderLayer::ForwardFeedForward(const Step& step, const Saved& saved) const {
  const RunContext& ctx = step.ctx;
  const ProfilePart part(ctx, "feed forward");
  const ParameterSet& parameters = *step.parameters;
  const int64_t rows = Rows(step);

  if (saved.a_ffn.b16 != nullptr) {
    intermediate_.ForwardActivated(ctx, parameters, rows, saved.y1.operand, config_.activation,
                                   saved.a_ffn.b16, saved.z_ffn.b16);
  } else {
    intermediate_.Forward(ctx, parameters, rows, saved.y1.operand, saved.z_ffn.f32);
    kernels::ActivationForwardArgs activation;
    activation.rows = rows;
    activation.width = config_.intermediate_size;
    activation.activation = config_.activation;
    activation.h = saved.z_ffn.f32;
    activation.bias = parameters.value(intermediate_.bias);
    activation.z = saved.z_ffn.f32;
    activation.a = saved.a_ffn.f32;
    kernels::ActivationForward(ctx, activation);
  }
  output_.Forward(ctx, parameters, rows, saved.a_ffn, saved.z2);
  kernels::LayerNormForwardArgs norm;
  norm.rows = rows;
  norm.width = config_.hidden_size;
  norm.eps = config_.layer_norm_eps;
  norm.keys = RowKeysOf(step);
  norm.h = saved.z2;
  norm.bias = parameters.value(output_.bias);
  norm.residual = saved.y1.value;
  norm.gamma = parameters.value(output_norm_.weight);
  norm.beta = parameters.value(output_norm_.bias);
  norm.dropout =
      step.Dropout(config_.feed_forward_dropout, index_, DropoutSite::kFeedForwardOutput);
  norm.z = saved.z2;
  norm.mean = saved.mean2;
  norm.rstd = saved.rstd2;
  norm.y = saved.y2.value;
  norm.y_bf16 = saved.y2.operand.b16;
  kernels::LayerNormForward(ctx, norm);
}

GradientPair EncoderLayer::Backward(const Step& step, const Saved& saved, const Workspace& work,
                                    GradientPair gradient) const {
  return BackwardAttention(step, saved, work, BackwardFeedForward(step, saved, work, gradient));
}

// Both halves go down with two [tokens, hidden] buffers that change hands.
GradientPair EncoderLayer::BackwardFeedForward(const Step& step, const Saved& saved,
                                               const Workspace& work, GradientPair gradient) const {
  const RunContext& ctx = step.ctx;
  const ProfilePart part(ctx, "feed forward");
  ParameterSet* const parameters = step.parameters;
  const int64_t rows = Rows(step);
  float* const first = gradient.dy;
  float* const second = gradient.dy2 != nullptr ? gradient.dy2 : work.spare;

  kernels::LayerNormBackwardArgs norm;
  norm.rows = rows;
  norm.width = config_.hidden_size;
  norm.dy = first;
  norm.dy2 = gradient.dy2;
  norm.z = saved.z2;
  norm.mean = saved.mean2;
  norm.rstd = saved.rstd2;
  norm.gamma = parameters->value(output_norm_.weight);
  norm.dropout =
      step.Dropout(config_.feed_forward_dropout, index_, DropoutSite::kFeedForwardOutput);
  norm.keys = RowKeysOf(step);
  norm.dz = first;
  norm.dh = work.dh.f32;
  norm.dh_bf16 = work.dh.b16;
  norm.dgamma = parameters->grad(output_norm_.weight);
  norm.dbeta = parameters->grad(output_norm_.bias);
  norm.dbias = parameters->grad(output_.bias);
  kernels::LayerNormBackward(ctx, norm);

  output_.BackwardWeight(ctx, parameters, rows, work.dh, saved.a_ffn);
  if (work.dz_ffn.b16 != nullptr) {
    output_.BackwardInputActivated(ctx, *parameters, rows, work.dh, saved.z_ffn.b16,
                                   work.dz_ffn.b16, parameters->grad(intermediate_.bias));
  } else {
    output_.BackwardInput(ctx, *parameters, rows, work.dh, work.dz_ffn.f32);
    kernels::ActivationBackwardArgs activation;
    activation.rows = rows;
    activation.width = config_.intermediate_size;
    activation.activation = config_.activation;
    activation.da = work.dz_ffn.f32;
    activation.z = saved.z_ffn.f32;
    activation.dz = work.dz_ffn.f32;
    activation.dbias = parameters->grad(intermediate_.bias);
    kernels::ActivationBackward(ctx, activation);
  }
  intermediate_.BackwardWeight(ctx, parameters, rows, work.dz_ffn, saved.y1.operand);
  intermediate_.BackwardInput(ctx, *parameters, rows, work.dz_ffn, second);
  return {second, first};
}

GradientPair EncoderLayer::BackwardAttention(const Step& step, const Saved& saved,
                                             const Workspace& work, GradientPair gradient) const {
  const RunContext& ctx = step.ctx;
  const ProfilePart part(ctx, "attention");
  ParameterSet* const parameters = step.parameters;
  const int64_t hidden = config_.hidden_size;
  const int64_t rows = Rows(step);
  float* const first = gradient.dy2;
  float* const second = gradient.dy;

  kernels::LayerNormBackwardArgs norm;
  norm.rows = rows;
  norm.width = hidden;
  norm.dy = second;
  norm.dy2 = first;
  norm.keys = RowKeysOf(step);
  norm.dh = work.dh.f32;
  norm.dh_bf16 = work.dh.b16;
  norm.z = saved.z1;
  norm.mean = saved.mean1;
  norm.rstd = saved.rstd1;
  norm.gamma = parameters->value(attention_norm_.weight);
  norm.dropout =
      step.Dropout(config_.attention_output_dropout, index_, DropoutSite::kAttentionOutput);
  norm.dz = first;
  norm.dgamma = parameters->grad(attention_norm_.weight);
  norm.dbeta = parameters->grad(attention_norm_.bias);
  norm.dbias = parameters->grad(attention_output_.bias);
  kernels::LayerNormBackward(ctx, norm);

  attention_output_.BackwardWeight(ctx, parameters, rows, work.dh, saved.tail_context);
  float* residual_gradient = first;
  if (first_tokens_only_) {
    attention_output_.BackwardInput(ctx, *parameters, rows, work.dh, second);
    ScatterFirstRows(ctx, step.batch, hidden, second, work.d_context);
    // `second` is free again: the residual's gradient moves there, spread over all tokens.
    ScatterFirstRows(ctx, step.batch, hidden, first, second);
    residual_gradient = second;
  } else {
    attention_output_.BackwardInput(ctx, *parameters, rows, work.dh, work.d_context);
  }
  kernels::AttentionBackwardArgs attention;
  attention.shape = ShapeOf(step, config_, index_);
  attention.qkv = saved.qkv.f32;
  attention.qkv_bf16 = saved.qkv.b16;
  attention.log_sum_exp = saved.log_sum_exp;
  attention.dout = work.d_context;
  attention.dqkv = work.dqkv.f32;
  attention.dqkv_bf16 = work.dqkv.b16;
  kernels::AttentionBackward(ctx, attention);

  qkv_.BackwardWeight(ctx, parameters, step.tokens(), work.dqkv, saved.x.operand);
  if (work.dqkv.b16 != nullptr) {
    kernels::AddColumnSums(ctx, step.tokens(), 3 * hidden, 3 * hidden, work.dqkv.b16,
                           parameters->grad(qkv_.bias));
  } else {
    kernels::AddColumnSums(ctx, step.tokens(), 3 * hidden, 3 * hidden, work.dqkv.f32,
                           parameters->grad(qkv_.bias));
  }
  float* const dx = residual_gradient == first ? second : first;
  qkv_.BackwardInput(ctx, *parameters, step.tokens(), work.dqkv, dx);
  return {dx, residual_gradient};
}

}  // namespace hagane::nn
