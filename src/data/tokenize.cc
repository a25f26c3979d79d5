#include "data/tokenize.h"

#include <fmt/format.h>

#include <string_view>

#include "base/error.h"
#include "data/chunked_loop.h"
#include "data/feature_cache.h"

namespace hagane::data {
namespace {

constexpr int64_t kChunkRows = 256;

struct Chunk {
  std::vector<int32_t> ids;
  std::vector<uint8_t> segments;
  std::vector<int32_t> lengths;  // of its rows
  int64_t truncated = 0;
};

void EncodeRows(const TextSplit& split, const text::Tokenizer& tokenizer, int max_length,
                int64_t begin, int64_t end, Chunk* chunk) {
  for (int64_t row = begin; row < end; ++row) {
    const auto i = static_cast<size_t>(row);
    const bool pair = !split.text_b.empty();
    const std::string_view b = pair ? std::string_view(split.text_b[i]) : std::string_view();
    const text::Encoding encoding =
        tokenizer.Encode(split.text_a[i], pair ? &b : nullptr, max_length, false);
    chunk->ids.insert(chunk->ids.end(), encoding.ids.begin(), encoding.ids.end());
    if (tokenizer.returns_token_types()) {
      for (const int32_t type : encoding.type_ids)
        chunk->segments.push_back(static_cast<uint8_t>(type));
    }
    chunk->lengths.push_back(static_cast<int32_t>(encoding.ids.size()));
    chunk->truncated += encoding.truncated;
  }
}

std::vector<Chunk> EncodeChunks(const RunContext& ctx, const TextSplit& split,
                                const text::Tokenizer& tokenizer, const TokenizeOptions& options) {
  const int64_t rows = split.rows();
  std::vector<Chunk> chunks(static_cast<size_t>((rows + kChunkRows - 1) / kChunkRows));
  ForEachChunk(ctx, rows, kChunkRows, options.progress,
               [&](int64_t chunk, int64_t begin, int64_t end) {
                 EncodeRows(split, tokenizer, options.max_length, begin, end,
                            &chunks[static_cast<size_t>(chunk)]);
               });
  return chunks;
}

Features Join(const TextSplit& split, const LabelSpec& labels, std::vector<Chunk> chunks) {
  Features features;
  features.problem = labels.problem;
  features.outputs = labels.outputs;
  features.has_labels = split.has_labels;
  features.class_labels = split.class_labels;
  features.float_labels = split.float_labels;

  size_t tokens = 0, segments = 0;
  for (const Chunk& chunk : chunks) {
    tokens += chunk.ids.size();
    segments += chunk.segments.size();
  }
  features.ids.reserve(tokens);
  features.segments.reserve(segments);
  features.row_start.reserve(static_cast<size_t>(split.rows()) + 1);
  features.row_start.push_back(0);
  for (Chunk& chunk : chunks) {
    features.ids.insert(features.ids.end(), chunk.ids.begin(), chunk.ids.end());
    features.segments.insert(features.segments.end(), chunk.segments.begin(), chunk.segments.end());
    for (const int32_t length : chunk.lengths) {
      features.row_start.push_back(features.row_start.back() + length);
    }
    features.truncated_rows += chunk.truncated;
    chunk = {};  // so that only one copy of the data set is in memory at the end
  }
  return features;
}

}  // namespace

Features TokenizeSplit(const RunContext& ctx, const TextSplit& split, const LabelSpec& labels,
                       const text::Tokenizer& tokenizer, const TokenizeOptions& options) {
  HAGANE_CHECK(split.text_b.empty() || split.text_b.size() == split.text_a.size());
  std::filesystem::path cache_file;
  FeatureKey key = {};
  if (options.cache_folder) {
    key = KeyOfFeatures(split, labels, tokenizer.fingerprint(), tokenizer.returns_token_types(),
                        options.max_length);
    cache_file = FeatureFile(*options.cache_folder, key);
    if (!options.overwrite_cache) {
      if (auto features = LoadFeatures(cache_file, key, split, labels, tokenizer,
                                       options.max_length, *ctx.log)) {
        ctx.log->Info(fmt::format("{}: tokens read from {}", split.name, cache_file.string()));
        return *std::move(features);
      }
    }
  }
  Features features = Join(split, labels, EncodeChunks(ctx, split, tokenizer, options));
  if (options.cache_folder) SaveFeatures(features, cache_file, key, *ctx.log);
  return features;
}

}  // namespace hagane::data
