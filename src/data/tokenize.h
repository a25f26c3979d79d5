// TextSplit -> Features, on all threads, with a cache of the result on disk.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "base/run_context.h"
#include "data/features.h"
#include "data/text_dataset.h"
#include "text/tokenizer.h"

namespace hagane::data {

struct TokenizeOptions {
  int max_length = 128;
  bool overwrite_cache = false;
  // Folder of cache files ("features-<key>.bin"), or none. The key is XXH3-128 of texts, labels,
  // tokenizer fingerprint and max_length; a file that is damaged or stale is made anew.
  std::optional<std::filesystem::path> cache_folder;
  // Called now and then from one thread with (rows done, rows).
  std::function<void(int64_t, int64_t)> progress;
};

Features TokenizeSplit(const RunContext& ctx, const TextSplit& split, const LabelSpec& labels,
                       const text::Tokenizer& tokenizer, const TokenizeOptions& options);

}  // namespace hagane::data
