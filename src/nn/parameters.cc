#include "nn/parameters.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/error.h"
#include "kernels/convert.h"

namespace hagane::nn {

namespace {
// Tensors start on a cache line, so that no two threads share one and vectors are aligned.
constexpr int64_t kAlignment = 16;  // floats
}  // namespace

int ParameterSet::Declare(Parameter parameter, bool contiguous) {
  HAGANE_CHECK(values_.empty(), "Declare after Allocate");
  parameter.size = std::accumulate(parameter.shape.begin(), parameter.shape.end(), int64_t{1},
                                   std::multiplies<>());
  if (!contiguous) flat_size_ = (flat_size_ + kAlignment - 1) / kAlignment * kAlignment;
  parameter.offset = flat_size_;
  flat_size_ += parameter.size;
  list_.push_back(std::move(parameter));
  return static_cast<int>(list_.size()) - 1;
}

void ParameterSet::Allocate(bool bf16_copy) {
  const auto size = static_cast<size_t>(flat_size_);
  values_.Resize(size);
  grads_.Resize(size);
  std::fill(values_.begin(), values_.end(), 0.0f);
  std::fill(grads_.begin(), grads_.end(), 0.0f);
  if (bf16_copy) {
    copies_.Resize(size);
    std::fill(copies_.begin(), copies_.end(), bf16{0});
  }
}

const Parameter* ParameterSet::Find(const std::string& name) const {
  const auto found =
      std::find_if(list_.begin(), list_.end(), [&](const Parameter& p) { return p.name == name; });
  return found == list_.end() ? nullptr : &*found;
}

int64_t ParameterSet::count() const {
  return std::accumulate(list_.begin(), list_.end(), int64_t{0},
                         [](int64_t sum, const Parameter& p) { return sum + p.size; });
}

kernels::MatrixIn ParameterSet::Operand(int index, int64_t ld, bool transposed) const {
  const int64_t offset = At(index).offset;
  kernels::MatrixIn operand;
  if (has_copies()) {
    operand.b16 = copies_.data() + offset;
  } else {
    operand.f32 = values_.data() + offset;
  }
  operand.ld = ld;
  operand.transposed = transposed;
  return operand;
}

void ParameterSet::ZeroGrads(const RunContext& ctx) {
  kernels::Fill(ctx, flat_size_, 0.0f, grads_.data());
}

void ParameterSet::RefreshCopies(const RunContext& ctx) {
  if (has_copies()) kernels::ToBf16(ctx, flat_size_, values_.data(), copies_.data());
}

void ParameterSet::Initialize(const Parameter& parameter, uint64_t seed, float range) {
  float* const begin = values_.data() + parameter.offset;
  float* const end = begin + parameter.size;
  if (parameter.init != InitKind::kNormal) {
    std::fill(begin, end, parameter.init == InitKind::kOnes ? 1.0f : 0.0f);
    return;
  }
  // Seeded by seed and name, so that a tensor's start value does not depend on which others are
  // new.
  std::vector<uint32_t> words = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  words.insert(words.end(), parameter.name.begin(), parameter.name.end());
  std::seed_seq seeds(words.begin(), words.end());
  std::mt19937_64 engine(seeds);
  std::normal_distribution<float> normal(0.0f, range);
  std::generate(begin, end, [&] { return normal(engine); });
  if (parameter.zero_row >= 0) {
    const int64_t columns = parameter.shape.back();
    std::fill_n(begin + parameter.zero_row * columns, columns, 0.0f);
  }
}

}  // namespace hagane::nn
