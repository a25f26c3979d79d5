#include "data/sampler.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "base/error.h"

namespace hagane::data {

std::vector<int64_t> RandomPermutation(int64_t n, uint64_t seed) {
  // From here on PyTorch draws 64 bits a step.
  HAGANE_CHECK(n >= 0 && n < (int64_t{1} << 32) / 20);
  std::mt19937 generator(static_cast<uint32_t>(seed));
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    const size_t z = generator() % (order.size() - i);
    std::swap(order[i], order[i + z]);
  }
  return order;
}

std::vector<int64_t> EpochOrder(int64_t rows, uint64_t seed, int64_t epoch) {
  return RandomPermutation(rows, seed + static_cast<uint64_t>(epoch));
}

std::vector<int64_t> EpochOrderByLength(const Features& features, uint64_t seed, int64_t epoch,
                                        int64_t batch) {
  HAGANE_CHECK(batch > 0);
  const int64_t rows = features.rows();
  std::vector<int64_t> order = EpochOrder(rows, seed, epoch);
  if (rows == 0) return order;
  const int64_t batches = std::clamp<int64_t>(rows / (4 * batch), 1, 50);
  const int64_t mega = batch * batches;
  int64_t longest = 0;  // begin of the mega-batch with the longest row
  for (int64_t begin = 0; begin < rows; begin += mega) {
    const auto first = order.begin() + begin;
    std::stable_sort(first, order.begin() + std::min(begin + mega, rows),
                     [&](int64_t a, int64_t b) { return features.length(a) > features.length(b); });
    const auto length_at = [&](int64_t i) {
      return features.length(order[static_cast<size_t>(i)]);
    };
    if (length_at(begin) > length_at(longest)) longest = begin;
  }
  std::swap(order[0], order[static_cast<size_t>(longest)]);
  return order;
}

}  // namespace hagane::data
