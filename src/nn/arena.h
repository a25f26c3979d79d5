// Activations of one step: a bump allocator over one buffer that is sized before the first step, so
// that no step allocates. A second use as a ruler: an Arena without memory only counts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned_buffer.h"
#include "base/bf16.h"
#include "base/error.h"

namespace hagane::nn {

// A matrix that is an operand of a product, in the run's precision: exactly one pointer is set.
struct Operand {
  float* f32 = nullptr;
  bf16* b16 = nullptr;
};

class Arena {
 public:
  // Makes room for `bytes`; drops the contents when it grows.
  void Reserve(size_t bytes) { memory_.Reserve(bytes); }
  // Starts over; pointers handed out before are dead. `measure`: only count, hand out null.
  void Reset(bool measure = false) {
    used_ = 0;
    measure_ = measure;
  }
  size_t used() const { return used_; }
  size_t capacity() const { return memory_.size(); }

  // `count` elements, 64-byte aligned, uninitialised.
  template <class T>
  T* Take(int64_t count) {
    const size_t begin = used_;
    used_ += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
    if (measure_) return nullptr;
    HAGANE_CHECK(used_ <= memory_.size(), "activation arena too small");
    return reinterpret_cast<T*>(memory_.data() + begin);
  }
  Operand TakeOperand(int64_t count, bool bf16_operands) {
    Operand operand;
    if (bf16_operands) {
      operand.b16 = Take<bf16>(count);
    } else {
      operand.f32 = Take<float>(count);
    }
    return operand;
  }
  // Lends memory: what is taken after Mark() is free again after Release(mark).
  size_t Mark() const { return used_; }
  void Release(size_t mark) { used_ = mark; }

 private:
  AlignedBuffer<std::byte> memory_;
  size_t used_ = 0;
  bool measure_ = false;
};

}  // namespace hagane::nn
