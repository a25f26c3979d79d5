#include "data/dealing.h"

#include <algorithm>
#include <numeric>

namespace hagane::data {

std::vector<std::vector<int64_t>> DealRows(const Features& features, std::span<const int64_t> rows,
                                           int ranks) {
  const auto of = static_cast<size_t>(ranks);
  std::vector<std::vector<int64_t>> dealt(of);
  std::vector<int64_t> longest_first(rows.size());
  std::iota(longest_first.begin(), longest_first.end(), 0);
  const auto length = [&](int64_t i) { return features.length(rows[static_cast<size_t>(i)]); };
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [&](int64_t a, int64_t b) { return length(a) > length(b); });
  const size_t share = (rows.size() + of - 1) / of;
  std::vector<int64_t> tokens(of, 0);
  for (const int64_t i : longest_first) {
    size_t to = of;
    for (size_t rank = 0; rank < of; ++rank) {
      if (dealt[rank].size() >= share) continue;
      if (to == of || tokens[rank] < tokens[to]) to = rank;
    }
    dealt[to].push_back(i);
    tokens[to] += length(i);
  }
  for (auto& indices : dealt) std::sort(indices.begin(), indices.end());
  return dealt;
}

}  // namespace hagane::data
