// Rows of dropout masks and their use, per level. Pointers and numbers only: included by the files
// of the levels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hagane {
enum class Isa;
}

namespace hagane::kernels {

// A DropoutSpec and a sample, ready for the generator.
struct MaskKey {
  uint32_t key0, key1;  // seed
  uint32_t step, sample, layer_site;
  uint32_t threshold;  // keep where word >= threshold
  float scale;         // of kept values, 1 / (1 - p)
};

// Elements that MaskRow may write past the row's end.
constexpr int64_t kMaskSlack = 64;

struct DropoutLoops {
  // mask[i] = scale or 0 for element `first` + i, 0 <= i < size. `first` is a multiple of 4; the
  // mask has room for size + kMaskSlack.
  void (*mask_row)(const MaskKey& key, uint64_t first, int64_t size, float* mask);
  // y = x * mask; y_bf16 (or null) the same rounded.
  void (*apply)(int64_t size, const float* x, const float* mask, float* y, uint16_t* y_bf16);
};
const DropoutLoops& DropoutLoopsFor(Isa isa);

namespace baseline {
extern const DropoutLoops kDropoutLoops;
}
namespace avx2 {
extern const DropoutLoops kDropoutLoops;
}
namespace avx512 {
extern const DropoutLoops kDropoutLoops;
}

}  // namespace hagane::kernels
