// One row of activation.h, per level. Pointers and numbers only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hagane {
enum class Isa;
}

namespace hagane::kernels {

enum class Activation;

struct ActivationForwardRow {
  Activation activation;
  int64_t width;
  const float *h, *bias;     // bias may be null
  float *z, *a;              // may be null
  uint16_t *a_bf16, *slope;  // may be null; slope: act'(z)
};
struct ActivationBackwardRow {
  Activation activation;
  int64_t width;
  const float *da, *z;
  const uint16_t* slope;  // null: z is given
  float* dz;              // may be null
  uint16_t* dz_bf16;      // may be null
  float* dbias;           // += this row's dz; may be null
};

struct ActivationLoops {
  void (*forward)(const ActivationForwardRow& row);
  void (*backward)(const ActivationBackwardRow& row);
  // sums += x, and the same for bf16
  void (*add)(int64_t width, const float* x, float* sums);
  void (*add_bf16)(int64_t width, const uint16_t* x, float* sums);
};
const ActivationLoops& ActivationLoopsFor(Isa isa);

namespace baseline {
extern const ActivationLoops kActivationLoops;
}
namespace avx2 {
extern const ActivationLoops kActivationLoops;
}
namespace avx512 {
extern const ActivationLoops kActivationLoops;
}

}  // namespace hagane::kernels
