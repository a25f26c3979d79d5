#include "data/qa_answers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "data/chunked_loop.h"
#include "data/code_points.h"

namespace hagane::data {
namespace {

constexpr int64_t kChunkExamples = 32;

// Finite numbers and infinities as they are, NaN below them all: a diverged model must not upset
// the sorting.
float Ordered(float value) {
  return std::isnan(value) ? -std::numeric_limits<float>::infinity() : value;
}

struct Span {
  text::Offset offset;
  float score = 0, start_logit = 0, end_logit = 0;
  int64_t order = 0;  // in which spans were found; decides between equal scores
};

bool IsBetter(const Span& a, const Span& b) {
  const float x = Ordered(a.score), y = Ordered(b.score);
  return x != y ? x > y : a.order < b.order;
}

// Keeps the best spans among any number of them.
class BestSpans {
 public:
  explicit BestSpans(size_t count) : count_(count) {}

  void Add(Span span) {
    span.order = added_++;
    spans_.push_back(span);
    if (spans_.size() >= 4 * std::max<size_t>(count_, 256)) Cut();
  }
  std::vector<Span> Take() {
    Cut();
    std::sort(spans_.begin(), spans_.end(), IsBetter);
    return std::move(spans_);
  }

 private:
  void Cut() {
    if (spans_.size() <= count_) return;
    const auto end = spans_.begin() + static_cast<std::ptrdiff_t>(count_);
    std::nth_element(spans_.begin(), end, spans_.end(), IsBetter);
    spans_.erase(end, spans_.end());
  }

  size_t count_;
  int64_t added_ = 0;
  std::vector<Span> spans_;
};

// One window's rows of the logits.
struct WindowView {
  std::span<const text::Offset> offsets;
  const float* logits;  // [tokens, 2]
  float Start(int32_t token) const { return logits[2 * static_cast<size_t>(token)]; }
  float End(int32_t token) const { return logits[2 * static_cast<size_t>(token) + 1]; }
};

// The tokens with the `count` highest logits (column 0: start, 1: end), highest first; equal ones
// from the right.
std::vector<int32_t> HighestTokens(const WindowView& window, size_t column, size_t count) {
  std::vector<int32_t> tokens(window.offsets.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  count = std::min(count, tokens.size());
  std::partial_sort(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count),
                    tokens.end(), [&](int32_t a, int32_t b) {
                      const float x = Ordered(window.logits[2 * static_cast<size_t>(a) + column]);
                      const float y = Ordered(window.logits[2 * static_cast<size_t>(b) + column]);
                      return x != y ? x > y : a > b;
                    });
  tokens.resize(count);
  return tokens;
}

void AddSpans(const WindowView& window, const QaAnswerOptions& options, BestSpans* best) {
  const auto count = static_cast<size_t>(options.n_best_size);
  const std::vector<int32_t> starts = HighestTokens(window, 0, count);
  const std::vector<int32_t> ends = HighestTokens(window, 1, count);
  for (const int32_t start : starts) {
    const text::Offset first = window.offsets[static_cast<size_t>(start)];
    if (first == kNoOffset) continue;
    for (const int32_t end : ends) {
      if (end < start || end - start >= options.max_answer_length) continue;
      const text::Offset last = window.offsets[static_cast<size_t>(end)];
      if (last == kNoOffset) continue;
      const float start_logit = window.Start(start), end_logit = window.End(end);
      best->Add({{first.begin, last.end}, start_logit + end_logit, start_logit, end_logit});
    }
  }
}

// Softmax in float32, as the reference computes it; with the filler, which is a Python number
// there, in double.
template <class T>
void SetProbabilities(const std::vector<T>& scores, std::vector<QaCandidate>* candidates) {
  const T highest = *std::max_element(scores.begin(), scores.end());
  std::vector<T> exponentials;
  for (const T score : scores)
    exponentials.push_back(static_cast<T>(std::exp(static_cast<double>(score - highest))));
  const T sum = std::accumulate(exponentials.begin(), exponentials.end(), T{0});
  for (size_t i = 0; i < scores.size(); ++i) (*candidates)[i].probability = exponentials[i] / sum;
}

class ExampleAnswer {
 public:
  ExampleAnswer(const QaAnswerOptions& options) : options_(options) {}

  void AddWindow(const WindowView& window) {
    const float null_score = window.Start(0) + window.End(0);
    if (!null_ || null_score < null_->score)
      null_ = Span{{0, 0}, null_score, window.Start(0), window.End(0)};
    AddSpans(window, options_, &best_);
  }

  // Fills element `i` of `answers`.
  void Finish(std::string_view context, size_t i, QaAnswers* answers) {
    if (options_.version_2 && null_) best_.Add(*null_);
    std::vector<Span> spans = best_.Take();
    const auto is_null = [](const Span& span) { return span.offset == text::Offset{0, 0}; };
    if (options_.version_2 && null_ && std::none_of(spans.begin(), spans.end(), is_null))
      spans.push_back(*null_);

    std::vector<QaCandidate>& candidates = answers->n_best[i];
    const CodePoints code_points(context);
    for (const Span& span : spans) {
      candidates.push_back({std::string(code_points.Slice(span.offset.begin, span.offset.end)),
                            span.start_logit, span.end_logit});
    }
    const bool needs_filler =
        candidates.empty() || (candidates.size() == 1 && candidates[0].text.empty());
    if (needs_filler) {
      std::vector<double> scores = {0.0};
      for (const Span& span : spans) scores.push_back(span.score);
      candidates.insert(candidates.begin(), {"empty", 0, 0, 0, true});
      SetProbabilities(scores, &candidates);
    } else {
      std::vector<float> scores;
      for (const Span& span : spans) scores.push_back(span.score);
      SetProbabilities(scores, &candidates);
    }
    Choose(candidates, i, answers);
  }

 private:
  void Choose(const std::vector<QaCandidate>& candidates, size_t i, QaAnswers* answers) const {
    if (!options_.version_2) {
      answers->texts[i] = candidates[0].text;
      return;
    }
    const auto best = std::find_if(candidates.begin(), candidates.end(),
                                   [](const QaCandidate& c) { return !c.text.empty(); });
    if (best == candidates.end() || !null_) return;  // no text, or no window: no answer
    const float odds = null_->score - best->start_logit - best->end_logit;
    answers->null_odds[i] = odds;
    if (!(odds > options_.null_score_diff_threshold)) answers->texts[i] = best->text;
  }

  const QaAnswerOptions& options_;
  BestSpans best_{static_cast<size_t>(options_.n_best_size)};
  std::optional<Span> null_;  // the lowest of all windows
};

}  // namespace

QaAnswers FindQaAnswers(const RunContext& ctx, const QaDataset& dataset, const QaWindows& windows,
                        std::span<const float> logits, const QaAnswerOptions& options) {
  const Features& features = windows.features;
  HAGANE_CHECK(logits.size() == 2 * features.ids.size());
  HAGANE_CHECK(windows.offsets.size() == features.ids.size());
  HAGANE_CHECK(options.n_best_size >= 1 && options.max_answer_length >= 1);
  const auto examples = static_cast<int64_t>(dataset.examples.size());
  QaAnswers answers;
  answers.texts.resize(dataset.examples.size());
  answers.n_best.resize(dataset.examples.size());
  if (options.version_2) answers.null_odds.resize(dataset.examples.size());
  ForEachChunk(ctx, examples, kChunkExamples, {}, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ExampleAnswer answer(options);
      const auto [first, last] =
          std::equal_range(windows.example.begin(), windows.example.end(), static_cast<int32_t>(i));
      for (auto window = first; window != last; ++window) {
        const auto row = window - windows.example.begin();
        const auto token = static_cast<size_t>(features.row_start[static_cast<size_t>(row)]);
        answer.AddWindow(
            {std::span(windows.offsets).subspan(token, static_cast<size_t>(features.length(row))),
             &logits[2 * token]});
      }
      const auto index = static_cast<size_t>(i);
      answer.Finish(dataset.context(dataset.examples[index]), index, &answers);
    }
  });
  return answers;
}

}  // namespace hagane::data
