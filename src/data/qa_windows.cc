#include "data/qa_windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/chunked_loop.h"
#include "data/delimited.h"
#include "data/feature_cache.h"

namespace hagane::data {
namespace {

constexpr int64_t kChunkExamples = 64;

// Windows of neighbouring examples.
struct Chunk {
  std::vector<int32_t> ids;
  std::vector<uint8_t> segments;
  std::vector<text::Offset> offsets;
  std::vector<int32_t> lengths, examples, start_labels, end_labels;  // [windows]
};

struct Span {
  int32_t start, end;
};

// The tokens of the window that hold the code points [begin, end) of the context, as indices in
// `offsets`; none when the window does not hold all of them.
std::optional<Span> FindTokens(std::span<const text::Offset> offsets, int64_t begin, int64_t end) {
  if (offsets.empty() || offsets.front().begin > begin || offsets.back().end < end)
    return std::nullopt;
  const auto last = static_cast<int32_t>(offsets.size()) - 1;
  int32_t start_token = 0, end_token = last;
  while (start_token < last && offsets[static_cast<size_t>(start_token) + 1].begin <= begin)
    ++start_token;
  while (end_token > 0 && offsets[static_cast<size_t>(end_token) - 1].end >= end) --end_token;
  // The pieces of one character all have its offset: of an answer that is one such character, the
  // last piece was found first.
  return Span{std::min(start_token, end_token), std::max(start_token, end_token)};
}

class WindowMaker {
 public:
  WindowMaker(const QaDataset& dataset, const text::Tokenizer& tokenizer,
              const QaWindowOptions& options, Chunk* chunk)
      : dataset_(dataset), tokenizer_(tokenizer), options_(options), chunk_(*chunk) {}

  void Add(int32_t index) {
    const QaExample& example = dataset_.examples[static_cast<size_t>(index)];
    if (options_.labels && example.target == QaTarget::kUnusable) return;
    if (example.context != context_index_) {  // neighbours share it
      context_ = tokenizer_.Tokenize(dataset_.context(example), true);
      context_index_ = example.context;
    }
    question_ = tokenizer_.Tokenize(example.question, false);
    const auto tokens = static_cast<int64_t>(context_.ids.size());
    const int64_t room = options_.max_length - tokenizer_.special_tokens(true) -
                         static_cast<int64_t>(question_.ids.size());
    if (tokens <= room) return AddWindow(index, 0, tokens);
    if (room <= options_.doc_stride) return;
    for (int64_t begin = 0;; begin += room - options_.doc_stride) {
      const int64_t end = std::min(begin + room, tokens);
      AddWindow(index, begin, end);
      if (end == tokens) return;
    }
  }

 private:
  void AddWindow(int32_t index, int64_t begin, int64_t end) {
    const size_t first = chunk_.ids.size();
    chunk_.ids.push_back(tokenizer_.cls_id());
    chunk_.ids.insert(chunk_.ids.end(), question_.ids.begin(), question_.ids.end());
    chunk_.ids.insert(chunk_.ids.end(), static_cast<size_t>(tokenizer_.special_tokens(true) - 2),
                      tokenizer_.sep_id());
    const size_t before_context = chunk_.ids.size() - first;
    chunk_.ids.insert(chunk_.ids.end(), context_.ids.begin() + begin, context_.ids.begin() + end);
    chunk_.ids.push_back(tokenizer_.sep_id());
    const size_t length = chunk_.ids.size() - first;
    if (tokenizer_.returns_token_types()) {
      chunk_.segments.insert(chunk_.segments.end(), before_context, 0);
      chunk_.segments.insert(chunk_.segments.end(), length - before_context,
                             static_cast<uint8_t>(tokenizer_.second_type()));
    }
    chunk_.lengths.push_back(static_cast<int32_t>(length));
    chunk_.examples.push_back(index);
    if (options_.labels) {
      AddLabels(index, begin, end, static_cast<int32_t>(before_context));
    } else {
      chunk_.offsets.insert(chunk_.offsets.end(), before_context, kNoOffset);
      chunk_.offsets.insert(chunk_.offsets.end(), context_.offsets.begin() + begin,
                            context_.offsets.begin() + end);
      chunk_.offsets.push_back(kNoOffset);
    }
  }

  void AddLabels(int32_t index, int64_t begin, int64_t end, int32_t before_context) {
    const QaExample& example = dataset_.examples[static_cast<size_t>(index)];
    Span labels{0, 0};  // [CLS]
    if (example.target == QaTarget::kSpan) {
      const auto offsets =
          std::span(context_.offsets)
              .subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
      if (const auto found = FindTokens(offsets, example.target_begin, example.target_end))
        labels = {before_context + found->start, before_context + found->end};
    }
    chunk_.start_labels.push_back(labels.start);
    chunk_.end_labels.push_back(labels.end);
  }

  const QaDataset& dataset_;
  const text::Tokenizer& tokenizer_;
  const QaWindowOptions& options_;
  Chunk& chunk_;
  text::Tokens question_, context_;
  int32_t context_index_ = -1;
};

template <class T>
void Append(std::vector<T>& from, std::vector<T>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

QaWindows Join(const QaWindowOptions& options, std::vector<Chunk> chunks) {
  QaWindows windows;
  Features& features = windows.features;
  features.problem = ProblemType::kSpan;
  features.outputs = 2;
  features.has_labels = options.labels;
  size_t tokens = 0, segments = 0, rows = 0;
  for (const Chunk& chunk : chunks) {
    tokens += chunk.ids.size();
    segments += chunk.segments.size();
    rows += chunk.lengths.size();
  }
  features.ids.reserve(tokens);
  features.segments.reserve(segments);
  if (!options.labels) windows.offsets.reserve(tokens);
  features.row_start.reserve(rows + 1);
  features.row_start.push_back(0);
  for (Chunk& chunk : chunks) {
    Append(chunk.ids, &features.ids);
    Append(chunk.segments, &features.segments);
    Append(chunk.start_labels, &features.start_labels);
    Append(chunk.end_labels, &features.end_labels);
    Append(chunk.examples, &windows.example);
    Append(chunk.offsets, &windows.offsets);
    for (const int32_t length : chunk.lengths)
      features.row_start.push_back(features.row_start.back() + length);
    chunk = {};  // so that only one copy of the windows is in memory at the end
  }
  return windows;
}

QaWindows Make(const RunContext& ctx, const QaDataset& dataset, const text::Tokenizer& tokenizer,
               const QaWindowOptions& options) {
  const auto examples = static_cast<int64_t>(dataset.examples.size());
  std::vector<Chunk> chunks(static_cast<size_t>((examples + kChunkExamples - 1) / kChunkExamples));
  ForEachChunk(ctx, examples, kChunkExamples, options.progress,
               [&](int64_t chunk, int64_t begin, int64_t end) {
                 WindowMaker maker(dataset, tokenizer, options,
                                   &chunks[static_cast<size_t>(chunk)]);
                 for (int64_t i = begin; i < end; ++i) maker.Add(static_cast<int32_t>(i));
               });
  return Join(options, std::move(chunks));
}

// Examples that should have a window and have none.
void SayLeftOut(const QaDataset& dataset, const QaWindows& windows, const QaWindowOptions& options,
                Log& log) {
  QaTally left_out;
  size_t window = 0;
  for (size_t i = 0; i < dataset.examples.size(); ++i) {
    const QaExample& example = dataset.examples[i];
    bool has_window = false;
    for (; window < windows.example.size() && windows.example[window] == static_cast<int32_t>(i);
         ++window)
      has_window = true;
    if (has_window || (options.labels && example.target == QaTarget::kUnusable)) continue;
    if (left_out.count++ < 5) left_out.first_ids.push_back(example.id);
  }
  if (left_out.count == 0) return;
  const std::string what = fmt::format(
      "{} of {} questions ({}) leave no room for their context with --max_seq_length {} "
      "and --doc_stride {}",
      left_out.count, dataset.examples.size(), FirstIds(left_out), options.max_length,
      options.doc_stride);
  if (windows.features.rows() == 0) {
    throw Error(fmt::format("{}: {}", dataset.origin.string(), what),
                "raise --max_seq_length or lower --doc_stride");
  }
  log.Warning(fmt::format("{}: {}; {}", dataset.origin.string(), what,
                          options.labels ? "left out of training" : "they get no answer"));
}

void KeepFirst(int64_t rows, QaWindows* windows) {
  Features& features = windows->features;
  if (rows >= features.rows()) return;
  const auto count = static_cast<size_t>(std::max<int64_t>(rows, 0));
  const auto tokens = static_cast<size_t>(features.row_start[count]);
  features.row_start.resize(count + 1);
  features.ids.resize(tokens);
  if (!features.segments.empty()) features.segments.resize(tokens);
  if (!features.start_labels.empty()) features.start_labels.resize(count);
  if (!features.end_labels.empty()) features.end_labels.resize(count);
  windows->example.resize(count);
  if (!windows->offsets.empty()) windows->offsets.resize(tokens);
}

}  // namespace

QaWindows MakeQaWindows(const RunContext& ctx, const QaDataset& dataset,
                        const text::Tokenizer& tokenizer, const QaWindowOptions& options) {
  HAGANE_CHECK(options.doc_stride >= 0);
  std::optional<QaWindows> windows;
  std::filesystem::path cache_file;
  FeatureKey key = {};
  if (options.cache_folder) {
    key = KeyOfWindows(dataset, tokenizer.fingerprint(), tokenizer.returns_token_types(), options);
    cache_file = FeatureFile(*options.cache_folder, key);
    if (!options.overwrite_cache)
      windows = LoadWindows(cache_file, key, dataset, tokenizer, options, *ctx.log);
    if (windows)
      ctx.log->Info(fmt::format("{}: tokens read from {}", dataset.name, cache_file.string()));
  }
  if (!windows) {
    windows = Make(ctx, dataset, tokenizer, options);
    if (options.cache_folder) SaveWindows(*windows, cache_file, key, *ctx.log);
  }
  SayLeftOut(dataset, *windows, options, *ctx.log);
  if (options.max_windows) KeepFirst(*options.max_windows, &*windows);
  return *std::move(windows);
}

}  // namespace hagane::data
