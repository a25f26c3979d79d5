// QaDataset -> token windows, on all threads, with a cache of the result on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "base/run_context.h"
#include "data/features.h"
#include "data/squad.h"
#include "text/tokenizer.h"

namespace hagane::data {

// The offset of a token that is not of the context.
inline constexpr text::Offset kNoOffset{-1, -1};

// A row of `features` is a window: [CLS] question [SEP] part of the context [SEP], in the template
// of the tokenizer. Windows are in the order of their examples, those of one example from its left
// to its right.
struct QaWindows {
  Features features;             // kSpan, 2 outputs; start and end labels when made for training
  std::vector<int32_t> example;  // [rows] index in QaDataset::examples
  // [tokens] code points of the context, kNoOffset for all other tokens; empty in training.
  std::vector<text::Offset> offsets;
};

struct QaWindowOptions {
  int max_length = 384;  // tokens of a window, special ones included
  int doc_stride = 128;  // tokens of the context that neighbours share
  // For training: labels instead of offsets, and no windows of unusable examples. The label is the
  // [CLS] token where the whole answer is not in the window.
  bool labels = false;
  std::optional<int64_t> max_windows;  // the first ones
  bool overwrite_cache = false;
  // Folder of cache files, or none; see TokenizeOptions.
  std::optional<std::filesystem::path> cache_folder;
  // Called now and then from one thread with (examples done, examples).
  std::function<void(int64_t, int64_t)> progress;
};

// A question that leaves no room for the context, or not more than doc_stride tokens where the
// context needs more than one window, gets no window and is named in a warning; an Error when no
// example has one.
QaWindows MakeQaWindows(const RunContext& ctx, const QaDataset& dataset,
                        const text::Tokenizer& tokenizer, const QaWindowOptions& options);

}  // namespace hagane::data
