#include "data/packing.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"

namespace hagane::data {
namespace {

void AppendPositions(std::span<const int32_t> ids, const PositionRule& rule,
                     std::vector<int32_t>* out) {
  int32_t next = rule.offset;
  for (const int32_t id : ids) {
    const bool pad = rule.count_from_pad >= 0 && id == rule.count_from_pad;
    out->push_back(pad ? rule.count_from_pad : next++);
  }
}

void AppendLabels(const Features& features, size_t row, PackedBatch* batch) {
  if (!features.has_labels) return;
  if (features.problem == ProblemType::kSingleLabel) {
    batch->class_labels.push_back(features.class_labels[row]);
    return;
  }
  if (features.problem == ProblemType::kSpan) {
    batch->start_labels.push_back(features.start_labels[row]);
    batch->end_labels.push_back(features.end_labels[row]);
    return;
  }
  const auto outputs = static_cast<size_t>(features.outputs);
  const auto first = features.float_labels.begin() + static_cast<std::ptrdiff_t>(row * outputs);
  batch->float_labels.insert(batch->float_labels.end(), first, first + features.outputs);
}

}  // namespace

void AppendRow(const Features& features, int64_t row, uint32_t sample, const PositionRule& rule,
               PackedBatch* batch) {
  HAGANE_CHECK(row >= 0 && row < features.rows());
  const auto begin = static_cast<size_t>(features.row_start[static_cast<size_t>(row)]);
  const auto length = static_cast<size_t>(features.length(row));
  const std::span<const int32_t> ids(features.ids.data() + begin, length);
  if (batch->cu_seqlens.empty()) batch->cu_seqlens.push_back(0);

  batch->ids.insert(batch->ids.end(), ids.begin(), ids.end());
  AppendPositions(ids, rule, &batch->positions);
  if (features.segments.empty()) {
    batch->segments.resize(batch->ids.size(), 0);
  } else {
    const auto first = features.segments.begin() + static_cast<std::ptrdiff_t>(begin);
    batch->segments.insert(batch->segments.end(), first,
                           first + static_cast<std::ptrdiff_t>(length));
  }
  batch->samples.push_back(sample);
  batch->token_sample.resize(batch->ids.size(), sample);
  batch->token_index.resize(batch->ids.size());
  std::iota(batch->token_index.end() - static_cast<std::ptrdiff_t>(length),
            batch->token_index.end(), 0u);
  batch->cu_seqlens.push_back(static_cast<int32_t>(batch->ids.size()));
  AppendLabels(features, static_cast<size_t>(row), batch);
}

void PackRows(const Features& features, std::span<const int64_t> rows,
              std::span<const uint32_t> samples, const PositionRule& rule, PackedBatch* batch) {
  batch->Clear();
  for (size_t i = 0; i < rows.size(); ++i) AppendRow(features, rows[i], samples[i], rule, batch);
}

void PackRows(const Features& features, std::span<const int64_t> rows, uint32_t first_sample,
              const PositionRule& rule, PackedBatch* batch) {
  batch->Clear();
  for (size_t i = 0; i < rows.size(); ++i) {
    AppendRow(features, rows[i], first_sample + static_cast<uint32_t>(i), rule, batch);
  }
}

int64_t LargestBatchTokens(const Features& features, int64_t batch_size) {
  std::vector<int> lengths(static_cast<size_t>(features.rows()));
  for (size_t row = 0; row < lengths.size(); ++row)
    lengths[row] = features.length(static_cast<int64_t>(row));
  const auto longest = std::clamp<int64_t>(batch_size, 0, features.rows());
  const auto end = lengths.begin() + longest;
  std::nth_element(lengths.begin(), end, lengths.end(), std::greater<>());
  return std::accumulate(lengths.begin(), end, int64_t{0});
}

}  // namespace hagane::data
