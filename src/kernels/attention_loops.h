// One head of one sequence of attention.h, per level. Pointers and numbers only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dropout_loops.h"

namespace hagane {
enum class Isa;
}

namespace hagane::kernels {

// q, k and v of the head: rows `ld` elements apart; either float32 or bf16.
struct HeadInput {
  int64_t length, head_size, ld;
  const float *q, *k, *v;
  const uint16_t *q_bf16, *k_bf16, *v_bf16;
  float scale;              // 1 / sqrt(head_size)
  const MaskKey* mask_key;  // null: no dropout
  void (*mask_row)(const MaskKey& key, uint64_t first, int64_t size, float* mask);
  uint64_t first_element;  // of the head's probabilities in the dropout stream
};
struct HeadForward {
  HeadInput in;
  float* log_sum_exp;  // [length] or null
  float* out;          // rows out_ld apart, or
  uint16_t* out_bf16;
  int64_t out_ld;
  float* scratch;
};
struct HeadBackward {
  HeadInput in;
  const float* log_sum_exp;
  const float* dout;  // rows dout_ld apart
  int64_t dout_ld;
  float *dq, *dk, *dv;  // rows in.ld apart, or
  uint16_t *dq_bf16, *dk_bf16, *dv_bf16;
  float* scratch;
};

struct AttentionLoops {
  // Floats of scratch (64-byte aligned) that the two need.
  int64_t (*forward_scratch)(int64_t length, int64_t head_size);
  int64_t (*backward_scratch)(int64_t length, int64_t head_size);
  void (*forward)(const HeadForward& head);
  void (*backward)(const HeadBackward& head);
};
const AttentionLoops& AttentionLoopsFor(Isa isa);

namespace baseline {
extern const AttentionLoops kAttentionLoops;
extern const AttentionLoops kAttentionTileLoops;  // emulated tiles; bf16 only, as those of amx
}  // namespace baseline
namespace avx2 {
extern const AttentionLoops kAttentionLoops;
}
namespace avx512 {
extern const AttentionLoops kAttentionLoops;
}
namespace amx {
extern const AttentionLoops kAttentionTileLoops;
}

}  // namespace hagane::kernels
