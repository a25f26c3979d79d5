// Rows of Features -> a PackedBatch: concatenation, no padding.
#pragma once

#include <cstdint>
#include <span>

#include "base/packed_batch.h"
#include "data/features.h"

namespace hagane::data {

// How a family numbers positions: token i of a sequence gets offset + i (BERT: 0; RoBERTa: pad id +
// 1), or, with count_from_pad (RoBERTa), offset - 1 + the count of non-pad ids so far, a literal
// pad id in the text getting the pad id itself (as the reference computes it from the ids).
struct PositionRule {
  int offset = 0;
  int32_t count_from_pad = -1;  // pad id, or -1
};

// Appends row `row`; `sample` keys its random streams.
void AppendRow(const Features& features, int64_t row, uint32_t sample, const PositionRule& rule,
               PackedBatch* batch);

// Clear + AppendRow for each of rows[i] with samples[i].
void PackRows(const Features& features, std::span<const int64_t> rows,
              std::span<const uint32_t> samples, const PositionRule& rule, PackedBatch* batch);
// The same with sample first_sample + i.
void PackRows(const Features& features, std::span<const int64_t> rows, uint32_t first_sample,
              const PositionRule& rule, PackedBatch* batch);

// Upper bound of the tokens in any batch of `batch_size` rows: the sum of the longest ones.
int64_t LargestBatchTokens(const Features& features, int64_t batch_size);

}  // namespace hagane::data
