// Which rank computes which rows of a global batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/features.h"

namespace hagane::data {

// Deals the rows of an update to `ranks` so that tokens are balanced: longest first, each to the
// rank with the fewest tokens that has not yet its share of rows (rows / ranks, rounded up).
// Returns for each rank indices into `rows`, ascending; a rank may get none. Depends on nothing but
// its arguments, so that every rank finds the same.
std::vector<std::vector<int64_t>> DealRows(const Features& features, std::span<const int64_t> rows,
                                           int ranks);

}  // namespace hagane::data
