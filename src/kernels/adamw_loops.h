// One range of adamw.h, per level. Pointers and numbers only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hagane {
enum class Isa;
}

namespace hagane::kernels {

// The scalars of AdamWArgs, worked out in double and rounded once.
struct AdamWFactors {
  float clip;
  float keep;          // 1 - lr * weight_decay
  float one_minus_b1;  // 1 - beta1
  float b2, one_minus_b2;
  float inverse_root;  // 1 / sqrt(1 - beta2^t)
  float eps;
  float rate;  // lr / (1 - beta1^t)
};

struct AdamWLoops {
  void (*update)(int64_t size, const AdamWFactors& factors, const float* grad, float* param,
                 float* exp_avg, float* exp_avg_sq, uint16_t* param_bf16, float* zeroed);
  double (*sum_of_squares)(int64_t size, const float* x);
};
const AdamWLoops& AdamWLoopsFor(Isa isa);

namespace baseline {
extern const AdamWLoops kAdamWLoops;
}
namespace avx2 {
extern const AdamWLoops kAdamWLoops;
}
namespace avx512 {
extern const AdamWLoops kAdamWLoops;
}

}  // namespace hagane::kernels
