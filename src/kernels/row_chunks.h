// Work on all threads in chunks whose borders depend on its size alone, and sums over rows
// that are added in chunk order: so no bit depends on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/aligned_buffer.h"
#include "base/run_context.h"

namespace hagane::kernels {

constexpr int64_t kChunkRows = 32;

inline int64_t Chunks(int64_t size, int64_t chunk_size) {
  return (size + chunk_size - 1) / chunk_size;
}
inline int64_t RowChunks(int64_t rows) { return Chunks(rows, kChunkRows); }

// body(chunk, begin, end) for the chunks of [0, size) on all threads. A single one stays on the
// calling thread: waking the others costs more than it saves.
template <class Body>
void ForChunks(const RunContext& ctx, int64_t size, int64_t chunk_size, Body body) {
  const int64_t chunks = Chunks(size, chunk_size);
#pragma omp parallel for num_threads(ctx.threads) schedule(static) if (chunks > 1)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    body(chunk, chunk * chunk_size, std::min(size, (chunk + 1) * chunk_size));
  }
}

// body(chunk, begin row, end row)
template <class Body>
void ForRowChunks(const RunContext& ctx, int64_t rows, Body body) {
  ForChunks(ctx, rows, kChunkRows, body);
}

// Zeroed partial sums, `width` floats for each chunk; AddTo adds them up in order.
class ChunkSums {
 public:
  ChunkSums(int64_t rows, int64_t width) : chunks_(RowChunks(rows)), width_(width) {
    AlignedBuffer<float>& memory = Memory();
    memory.Reserve(static_cast<size_t>(chunks_ * width_));
    data_ = memory.data();
    std::fill_n(data_, chunks_ * width_, 0.0f);
  }
  float* Of(int64_t chunk) { return data_ + chunk * width_; }
  // sums[i] += column `first` + i, 0 <= i < count
  void AddTo(float* sums, int64_t first, int64_t count) const {
    for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
      const float* const part = data_ + chunk * width_ + first;
      for (int64_t i = 0; i < count; ++i) sums[i] += part[i];
    }
  }

 private:
  static AlignedBuffer<float>& Memory() {
    thread_local AlignedBuffer<float> memory;
    return memory;
  }

  int64_t chunks_, width_;
  float* data_ = nullptr;
};

}  // namespace hagane::kernels
