// Sample order as PyTorch's: randperm on MT19937 seeded with seed + epoch (spec 3.1).
#pragma once

#include <cstdint>
#include <vector>

#include "data/features.h"

namespace hagane::data {

// torch.randperm(n, generator seeded with `seed`): MT19937 init_genrand(seed & 0xffffffff); for
// i = 0 .. n-2 swap r[i] with r[i + next32 % (n - i)].
std::vector<int64_t> RandomPermutation(int64_t n, uint64_t seed);

// The order of one epoch's rows: RandomPermutation(rows, seed + epoch).
std::vector<int64_t> EpochOrder(int64_t rows, uint64_t seed, int64_t epoch);

// The same with group_by_length (spec 3.1): mega-batches of batch * m rows sorted by length,
// longest first, the longest row of all in front. `batch` is per_device size * accumulation.
std::vector<int64_t> EpochOrderByLength(const Features& features, uint64_t seed, int64_t epoch,
                                        int64_t batch);

}  // namespace hagane::data
