#include "nn/embeddings.h"

#include "base/profile.h"
#include "kernels/activation.h"
#include "kernels/convert.h"
#include "kernels/embedding.h"
#include "kernels/layer_norm.h"

namespace hagane::nn {

namespace {

int DeclareTable(ParameterSet* parameters, const std::string& name, int64_t rows, int64_t width,
                 int64_t zero_row) {
  Parameter table;
  table.name = name + ".weight";
  table.shape = {rows, width};
  table.zero_row = zero_row;
  return parameters->Declare(std::move(table));
}

kernels::EmbeddingArgs Rows(const Step& step, int64_t width, bool with_segments) {
  kernels::EmbeddingArgs args;
  args.tokens = step.tokens();
  args.width = width;
  args.ids = step.batch.ids.data();
  args.positions = step.batch.positions.data();
  args.segments = with_segments ? step.batch.segments.data() : nullptr;
  return args;
}

}  // namespace

Embeddings::Embeddings(const EncoderConfig& config, const EmbeddingNames& names,
                       ParameterSet* parameters)
    : config_(config) {
  const int64_t width = config.embedding_size;
  word_ = DeclareTable(parameters, names.word, config.vocab_size, width, config.pad_token_id);
  position_ = DeclareTable(parameters, names.position, config.max_positions, width,
                           config.position_pad_row_frozen ? config.pad_token_id : -1);
  if (config.type_vocab_size > 0 && !names.segment.empty()) {
    segment_ = DeclareTable(parameters, names.segment, config.type_vocab_size, width, -1);
  }
  norm_ = DeclareLayerNorm(parameters, names.norm, width);
  if (width != config.hidden_size) {
    projection_ = DeclareLinear(parameters, names.projection, width, config.hidden_size, false);
  }
}

double Embeddings::LinearFlopsPerToken() const {
  return 2.0 * static_cast<double>(projection_.in) * static_cast<double>(projection_.out);
}

Embeddings::Saved Embeddings::Plan(Arena* arena, int64_t tokens, bool bf16_operands) const {
  Saved saved;
  saved.sum = arena->Take<float>(tokens * config_.embedding_size);
  saved.mean = arena->Take<float>(tokens);
  saved.rstd = arena->Take<float>(tokens);
  saved.normed = Stream::Take(arena, tokens * config_.embedding_size, bf16_operands);
  saved.out =
      projects() ? Stream::Take(arena, tokens * config_.hidden_size, bf16_operands) : saved.normed;
  return saved;
}

kernels::DropoutSpec Embeddings::DropoutOf(const Step& step) const {
  return step.Dropout(config_.embedding_dropout, 0, kernels::DropoutSite::kEmbeddings);
}

void Embeddings::Forward(const Step& step, const Saved& saved) const {
  const RunContext& ctx = step.ctx;
  const ProfilePart part(ctx, "embeddings");
  const ParameterSet& parameters = *step.parameters;
  const int64_t tokens = step.tokens();
  const int64_t width = config_.embedding_size;
  kernels::EmbeddingForward(ctx, Rows(step, width, segment_ >= 0), parameters.value(word_),
                            parameters.value(position_),
                            segment_ >= 0 ? parameters.value(segment_) : nullptr, saved.sum);
  kernels::LayerNormForwardArgs norm;
  norm.rows = tokens;
  norm.width = width;
  norm.h = saved.sum;
  norm.gamma = parameters.value(norm_.weight);
  norm.beta = parameters.value(norm_.bias);
  norm.eps = config_.layer_norm_eps;
  norm.z = saved.sum;
  norm.mean = saved.mean;
  norm.rstd = saved.rstd;
  norm.y = saved.normed.value;
  norm.y_bf16 = saved.normed.operand.b16;
  kernels::LayerNormForward(ctx, norm);
  const kernels::DropoutSpec dropout = DropoutOf(step);
  if (dropout.active()) {
    kernels::Dropout(ctx, dropout, step.token_keys(), tokens, width, saved.normed.value,
                     saved.normed.value, saved.normed.operand.b16);
  }
  if (projects()) {
    // The projection's output is the residual stream: float32, with an operand copy under bf16.
    const Operand value{saved.out.value, nullptr};
    projection_.ForwardWithBias(ctx, parameters, tokens, saved.normed.operand, value);
    if (saved.out.operand.b16 != nullptr) {
      kernels::ToBf16(ctx, tokens * config_.hidden_size, saved.out.value, saved.out.operand.b16);
    }
  }
}

void Embeddings::Backward(const Step& step, const Saved& saved, const EncoderLayer::Workspace& work,
                          GradientPair gradient) const {
  const RunContext& ctx = step.ctx;
  const ProfilePart part(ctx, "embeddings");
  ParameterSet* const parameters = step.parameters;
  const int64_t tokens = step.tokens();
  const int64_t width = config_.embedding_size;
  const int64_t hidden = config_.hidden_size;
  float* dy = gradient.dy;  // of the output, then of the LayerNorm's output, then of the sum
  if (gradient.dy2 != nullptr) kernels::Add(ctx, tokens * hidden, gradient.dy2, dy);
  if (projects()) {
    Operand operand{dy, nullptr};
    if (work.dh.b16 != nullptr) {
      kernels::ToBf16(ctx, tokens * hidden, dy, work.dh.b16);
      operand = work.dh;
    }
    kernels::AddColumnSums(ctx, tokens, hidden, hidden, dy, parameters->grad(projection_.bias));
    projection_.BackwardWeight(ctx, parameters, tokens, operand, saved.normed.operand);
    projection_.BackwardInput(ctx, *parameters, tokens, operand, work.d_context);
    dy = work.d_context;
  }
  const kernels::DropoutSpec dropout = DropoutOf(step);
  if (dropout.active()) {
    kernels::Dropout(ctx, dropout, step.token_keys(), tokens, width, dy, dy, nullptr);
  }
  kernels::LayerNormBackwardArgs norm;
  norm.rows = tokens;
  norm.width = width;
  norm.dy = dy;
  norm.z = saved.sum;
  norm.mean = saved.mean;
  norm.rstd = saved.rstd;
  norm.gamma = parameters->value(norm_.weight);
  norm.dz = dy;
  norm.dgamma = parameters->grad(norm_.weight);
  norm.dbeta = parameters->grad(norm_.bias);
  kernels::LayerNormBackward(ctx, norm);
  kernels::EmbeddingBackward(ctx, Rows(step, width, segment_ >= 0), dy, config_.pad_token_id,
                             config_.position_pad_row_frozen ? config_.pad_token_id : -1,
                             parameters->grad(word_), parameters->grad(position_),
                             segment_ >= 0 ? parameters->grad(segment_) : nullptr);
}

}  // namespace hagane::nn
