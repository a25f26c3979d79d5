// A batch without padding: the tokens of its sequences one after the other.
#pragma once

#include <cstdint>
#include <vector>

namespace hagane {

// What the labels are, and with them the loss (Hugging Face's config.problem_type).
enum class ProblemType {
  kRegression,   // float labels, mean squared error
  kSingleLabel,  // one class id per sequence, cross entropy
  kMultiLabel,   // a 0/1 float per sequence and output, binary cross entropy with logits
  kSpan,         // first and last token of the answer, a cross entropy each over the tokens
};

// Invariants: ids, positions, segments, token_sample and token_index have cu_seqlens.back()
// elements; cu_seqlens[0] == 0 and is strictly increasing; samples has one element per sequence.
struct PackedBatch {
  std::vector<int32_t> ids;         // [tokens] token ids
  std::vector<int32_t> positions;   // [tokens] rows of the position embedding
  std::vector<int32_t> segments;    // [tokens] token types; all 0 where the model has none
  std::vector<int32_t> cu_seqlens;  // [sequences + 1] start of each sequence, then the total

  // Keys of the random streams (see kernels/dropout.h): independent of who computes the sequence.
  std::vector<uint32_t> samples;       // [sequences] sample index in the epoch's order
  std::vector<uint32_t> token_sample;  // [tokens] samples[] of the token's sequence
  std::vector<uint32_t> token_index;   // [tokens] position of the token within its sequence

  // Labels; only the one that the problem type asks for is filled, none in prediction.
  std::vector<int32_t> class_labels;  // [sequences]
  std::vector<float> float_labels;    // [sequences] regression, [sequences, outputs] multi-label
  std::vector<int32_t> start_labels;  // [sequences] span: index of the token in its own sequence
  std::vector<int32_t> end_labels;    // [sequences] likewise

  int sequences() const { return cu_seqlens.empty() ? 0 : static_cast<int>(cu_seqlens.size()) - 1; }
  int tokens() const { return cu_seqlens.empty() ? 0 : cu_seqlens.back(); }
  int length(int sequence) const {
    const auto i = static_cast<size_t>(sequence);
    return cu_seqlens[i + 1] - cu_seqlens[i];
  }
  int longest() const {
    int longest = 0;
    for (int s = 0; s < sequences(); ++s) longest = length(s) > longest ? length(s) : longest;
    return longest;
  }

  void Clear() {
    ids.clear();
    positions.clear();
    segments.clear();
    cu_seqlens.assign(1, 0);
    samples.clear();
    token_sample.clear();
    token_index.clear();
    class_labels.clear();
    float_labels.clear();
    start_labels.clear();
    end_labels.clear();
  }
};

}  // namespace hagane
