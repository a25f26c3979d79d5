#include "data/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hagane::data {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Characters to insert, remove or replace, or neighbours to swap.
size_t Edits(std::string_view a, std::string_view b) {
  std::vector<size_t> before, above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replace = above[j] + (Lower(a[i]) != Lower(b[j]));
      row[j + 1] = std::min({replace, row[j] + 1, above[j + 1] + 1});
      const bool swapped =
          i > 0 && j > 0 && Lower(a[i]) == Lower(b[j - 1]) && Lower(a[i - 1]) == Lower(b[j]);
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
    before = std::exchange(above, row);
  }
  return above.back();
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string nearest;
  size_t fewest = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > 200 || word.size() > 200) continue;
    const size_t edits = Edits(word, candidate);
    if (edits < fewest && edits < candidate.size()) {
      fewest = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace hagane::data
