#include "kernels/attention.h"

#include <cmath>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "base/profile.h"
#include "kernels/attention_tiles.h"
#include "kernels/dropout_mask.h"
#include "kernels/gemm_tiles.h"
#include "kernels/level.h"
#include "kernels/optional_pointer.h"

namespace hagane::kernels {

const AttentionLoops& AttentionLoopsFor(Isa isa) {
  return LoopsOf(isa, baseline::kAttentionLoops, avx2::kAttentionLoops, avx512::kAttentionLoops);
}

namespace {

const AttentionLoops& LoopsFor(const RunContext& ctx, bool bf16_operands) {
  return bf16_operands && HasTiles(ctx) ? amx::kAttentionTileLoops : AttentionLoopsFor(ctx.isa);
}

// A thread's scratch, kept so that steps do not allocate.
float* Scratch(int64_t floats) {
  thread_local AlignedBuffer<float> scratch;
  scratch.Reserve(static_cast<size_t>(floats));
  return scratch.data();
}

// Operations of one of the products that attention is made of: over all heads and sequences.
double ProductFlops(const AttentionShape& shape) {
  double flops = 0;
  for (int s = 0; s < shape.sequences; ++s) {
    const double length = shape.cu_seqlens[s + 1] - shape.cu_seqlens[s];
    flops += 2.0 * length * length * shape.heads * shape.head_size;
  }
  return flops;
}

// Calls body(begin token, head, input) for every sequence and head, on all threads. Longest work
// first is not needed: tasks are many and small.
template <class Body>
void ForHeads(const RunContext& ctx, const AttentionShape& shape, const float* qkv,
              const bf16* qkv_bf16, Body body) {
  HAGANE_CHECK(shape.head_size % 4 == 0, "head size");
  HAGANE_CHECK((qkv == nullptr) != (qkv_bf16 == nullptr), "exactly one of qkv and qkv_bf16");
  const int64_t hidden = int64_t{shape.heads} * shape.head_size;
  const int64_t tasks = int64_t{shape.sequences} * shape.heads;
#pragma omp parallel for num_threads(ctx.threads) schedule(dynamic) if (tasks > 1)
  for (int64_t task = 0; task < tasks; ++task) {
    const int64_t sequence = task / shape.heads;
    const int64_t head = task % shape.heads;
    const int64_t begin = shape.cu_seqlens[sequence];
    HeadInput in = {};
    in.length = shape.cu_seqlens[sequence + 1] - begin;
    in.head_size = shape.head_size;
    in.ld = 3 * hidden;
    const int64_t at = begin * in.ld + head * shape.head_size;
    in.q = Offset(qkv, at);
    in.k = Offset(qkv, at + hidden);
    in.v = Offset(qkv, at + 2 * hidden);
    in.q_bf16 = Bits(qkv_bf16, at);
    in.k_bf16 = Bits(qkv_bf16, at + hidden);
    in.v_bf16 = Bits(qkv_bf16, at + 2 * hidden);
    in.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_size));
    MaskKey key = {};
    if (shape.dropout.active()) {
      key = MakeMaskKey(shape.dropout, shape.samples[sequence]);
      in.mask_key = &key;
      in.mask_row = DropoutLoopsFor(ctx.isa).mask_row;
      in.first_element = static_cast<uint64_t>(head * in.length * in.length);
    }
    body(begin, head, in);
  }
}

}  // namespace

void AttentionForward(const RunContext& ctx, const AttentionForwardArgs& args) {
  AttentionForwardBy(ctx, LoopsFor(ctx, args.qkv_bf16 != nullptr), args);
}

void AttentionForwardBy(const RunContext& ctx, const AttentionLoops& loops,
                        const AttentionForwardArgs& args) {
  const ProfileScope profile(ctx, "attention forward", 2 * ProductFlops(args.shape), 0);
  const AttentionShape& shape = args.shape;
  const int64_t hidden = int64_t{shape.heads} * shape.head_size;
  const int64_t tokens = shape.cu_seqlens[shape.sequences];
  ForHeads(ctx, shape, args.qkv, args.qkv_bf16,
           [&](int64_t begin, int64_t head, const HeadInput& in) {
             const int64_t at = begin * hidden + head * shape.head_size;
             HeadForward one = {};
             one.in = in;
             one.log_sum_exp = Offset(args.log_sum_exp, head * tokens + begin);
             one.out = Offset(args.out, at);
             one.out_bf16 = Bits(args.out_bf16, at);
             one.out_ld = hidden;
             one.scratch = Scratch(loops.forward_scratch(in.length, in.head_size));
             loops.forward(one);
           });
}

void AttentionBackward(const RunContext& ctx, const AttentionBackwardArgs& args) {
  AttentionBackwardBy(ctx, LoopsFor(ctx, args.qkv_bf16 != nullptr), args);
}

void AttentionBackwardBy(const RunContext& ctx, const AttentionLoops& loops,
                         const AttentionBackwardArgs& args) {
  const ProfileScope profile(ctx, "attention backward", 5 * ProductFlops(args.shape), 0);
  const AttentionShape& shape = args.shape;
  const int64_t hidden = int64_t{shape.heads} * shape.head_size;
  const int64_t tokens = shape.cu_seqlens[shape.sequences];
  ForHeads(ctx, shape, args.qkv, args.qkv_bf16,
           [&](int64_t begin, int64_t head, const HeadInput& in) {
             const int64_t at = begin * in.ld + head * shape.head_size;
             HeadBackward one = {};
             one.in = in;
             one.log_sum_exp = args.log_sum_exp + head * tokens + begin;
             one.dout = args.dout + begin * hidden + head * shape.head_size;
             one.dout_ld = hidden;
             one.dq = Offset(args.dqkv, at);
             one.dk = Offset(args.dqkv, at + hidden);
             one.dv = Offset(args.dqkv, at + 2 * hidden);
             one.dq_bf16 = Bits(args.dqkv_bf16, at);
             one.dk_bf16 = Bits(args.dqkv_bf16, at + hidden);
             one.dv_bf16 = Bits(args.dqkv_bf16, at + 2 * hidden);
             one.scratch = Scratch(loops.backward_scratch(in.length, in.head_size));
             loops.backward(one);
           });
}

}  // namespace hagane::kernels
