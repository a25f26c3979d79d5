// What made an update's loss or gradients NaN or infinite.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nn/parameters.h"

namespace hagane::train {

// The tensor where it shows first: a weight that is not finite (in forward order), or else the
// gradient that backward reached first (from the head down), for what lies behind follows from it.
// "the weight X", "the gradient of X", or "the loss" where all tensors are finite.
std::string FirstNotFinite(const nn::ParameterSet& parameters);

// Those of `rows` for which `is_finite(i)`, i the index in `rows`, is false.
std::vector<int64_t> RowsNotFinite(std::span<const int64_t> rows,
                                   const std::function<bool(size_t)>& is_finite);

// "row 7 of the training data", "rows 3, 9 and 4 more ..."; rows count from 0, in the data's order.
std::string DescribeRows(const std::vector<int64_t>& bad, size_t of);

}  // namespace hagane::train
