// From a DropoutSpec to rows of multipliers, for the kernels that drop out on the fly.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/aligned_buffer.h"
#include "kernels/dropout.h"
#include "kernels/dropout_loops.h"

namespace hagane::kernels {

inline uint32_t LayerSite(const DropoutSpec& spec) {
  return spec.layer << 8 | static_cast<uint32_t>(spec.site);
}
inline uint32_t DropoutThreshold(const DropoutSpec& spec) {
  return static_cast<uint32_t>(static_cast<double>(spec.p) * 4294967296.0);
}
inline float DropoutScale(const DropoutSpec& spec) { return 1.0f / (1.0f - spec.p); }

inline MaskKey MakeMaskKey(const DropoutSpec& spec, uint32_t sample) {
  return {static_cast<uint32_t>(spec.seed),
          static_cast<uint32_t>(spec.seed >> 32),
          spec.step,
          sample,
          LayerSite(spec),
          DropoutThreshold(spec),
          DropoutScale(spec)};
}

// One multiplier by Random123: the plain loops' way.
float DropoutFactor(const DropoutSpec& spec, uint32_t sample, uint64_t element);

// A thread's buffer for the mask of one row of [rows, width].
class MaskBuffer {
 public:
  MaskBuffer(const DropoutSpec& spec, int64_t width) : spec_(spec), width_(width) {
    Memory().Reserve(static_cast<size_t>(width + kMaskSlack));
    if (!spec.active()) std::fill_n(Memory().data(), width, 1.0f);
  }
  // Null when dropout is off.
  const float* RowOrNull(const DropoutLoops& loops, RowKeys keys, int64_t row) {
    return spec_.active() ? Row(loops, keys, row) : nullptr;
  }
  const float* Row(const DropoutLoops& loops, RowKeys keys, int64_t row) {
    float* const mask = Memory().data();
    if (spec_.active()) {
      loops.mask_row(MakeMaskKey(spec_, keys.sample[row]),
                     static_cast<uint64_t>(keys.token[row]) * static_cast<uint64_t>(width_), width_,
                     mask);
    }
    return mask;
  }

 private:
  // Kept by the thread, so that steps do not allocate.
  static AlignedBuffer<float>& Memory() {
    thread_local AlignedBuffer<float> memory;
    return memory;
  }

  const DropoutSpec& spec_;
  int64_t width_;
};

}  // namespace hagane::kernels
