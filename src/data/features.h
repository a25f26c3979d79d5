// Tokenised data: what training and evaluation read, flat in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/packed_batch.h"

namespace hagane::data {

// Rows are in file order. Labels as PackedBatch has them; class_labels of a row without a usable
// label (test sets) is -1.
struct Features {
  std::vector<int64_t> row_start;  // [rows + 1] first token of each row, then the total
  std::vector<int32_t> ids;        // [tokens]
  std::vector<uint8_t> segments;   // [tokens]; empty where the model gets no token types

  ProblemType problem = ProblemType::kSingleLabel;
  int outputs = 2;  // logits per row; span: per token
  bool has_labels = false;
  std::vector<int32_t> class_labels;  // [rows] single label
  std::vector<float> float_labels;    // [rows] regression, [rows, outputs] multi-label
  std::vector<int32_t> start_labels;  // [rows] span: index of the token in its row
  std::vector<int32_t> end_labels;    // [rows] likewise

  int64_t truncated_rows = 0;

  int64_t rows() const {
    return row_start.empty() ? 0 : static_cast<int64_t>(row_start.size()) - 1;
  }
  int64_t tokens() const { return static_cast<int64_t>(ids.size()); }
  int length(int64_t row) const {
    const auto i = static_cast<size_t>(row);
    return static_cast<int>(row_start[i + 1] - row_start[i]);
  }
};

}  // namespace hagane::data
