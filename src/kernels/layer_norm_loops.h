// One row of layer_norm.h, per level. Pointers and numbers only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hagane {
enum class Isa;
}

namespace hagane::kernels {

// Null where layer_norm.h allows null; `mask` is a row of dropout multipliers or null.
struct LayerNormForwardRow {
  int64_t width;
  const float *h, *bias, *mask, *residual, *gamma, *beta;
  float eps;
  float *z, *mean, *rstd, *y;
  uint16_t* y_bf16;
};
struct LayerNormBackwardRow {
  int64_t width;
  const float *dy, *dy2, *z, *gamma, *mask;
  float mean, rstd;
  float *dz, *dh;
  uint16_t* dh_bf16;
  float *dgamma, *dbeta, *dbias;  // += this row's part
};

struct LayerNormLoops {
  void (*forward)(const LayerNormForwardRow& row);
  void (*backward)(const LayerNormBackwardRow& row);
};
const LayerNormLoops& LayerNormLoopsFor(Isa isa);

namespace baseline {
extern const LayerNormLoops kLayerNormLoops;
}
namespace avx2 {
extern const LayerNormLoops kLayerNormLoops;
}
namespace avx512 {
extern const LayerNormLoops kLayerNormLoops;
}

}  // namespace hagane::kernels
