#include "train/background_save.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace hagane::train {

namespace {

// On all threads: training waits for it.
void Copy(const RunContext& ctx, const float* from, int64_t size, float* to) {
  constexpr int64_t kBlock = 1 << 18;
#pragma omp parallel for num_threads(ctx.threads)
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    const int64_t count = std::min(kBlock, size - begin);
    std::memcpy(to + begin, from + begin, static_cast<size_t>(count) * sizeof(float));
  }
}

}  // namespace

int64_t BackgroundSave::CopyBytes(const nn::ParameterSet& parameters, bool with_optimizer) {
  return parameters.flat_size() * static_cast<int64_t>(sizeof(float)) * (with_optimizer ? 3 : 1);
}

bool BackgroundSave::IsDone() const {
  return under_way() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void BackgroundSave::Start(const RunContext& ctx, std::unique_ptr<NewCheckpoint> checkpoint,
                           CheckpointState state) {
  HAGANE_CHECK(!under_way());
  const int64_t size = checkpoint->flat_size();
  copy_.Reserve(static_cast<size_t>(size) * (state.exp_avg != nullptr ? 3 : 1));
  float* to = copy_.data();
  for (const float** array : {&state.weights, &state.exp_avg, &state.exp_avg_sq}) {
    if (*array == nullptr) continue;
    Copy(ctx, *array, size, to);
    *array = to;
    to += size;
  }
  writing_ = std::async(std::launch::async,
                        [checkpoint = std::move(checkpoint), state = std::move(state)]() mutable {
                          // Gone, with what it left behind, before the result is there.
                          const auto mine = std::move(checkpoint);
                          mine->Write(state);
                        });
}

}  // namespace hagane::train
