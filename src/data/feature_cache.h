// Features on disk, so that a second run does not tokenise again.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/log.h"
#include "data/features.h"
#include "data/qa_windows.h"
#include "data/text_dataset.h"

namespace hagane::data {

// XXH3-128 of everything that decides the features of a split, or the windows of a dataset
// (max_windows does not: the file holds all).
using FeatureKey = std::array<uint64_t, 2>;
FeatureKey KeyOfFeatures(const TextSplit& split, const LabelSpec& labels,
                         const std::string& tokenizer_fingerprint, bool token_types,
                         int max_length);
FeatureKey KeyOfWindows(const QaDataset& dataset, const std::string& tokenizer_fingerprint,
                        bool token_types, const QaWindowOptions& options);

// XXH3-128, in hexadecimal, of all that a model gets: tokens and labels.
std::string FingerprintOf(const Features& features);

// "features-0123...ef.bin" in `folder`.
std::filesystem::path FeatureFile(const std::filesystem::path& folder, const FeatureKey& key);

// None when there is no such file, or, with a warning, when it is damaged. The checksum is against
// accidents; a file may also have been made on purpose, so what is returned is what its users rely
// on: rows of 1 to max_length ids of the tokenizer's vocabulary, labels that the split or the
// options ask for, examples that are there.
std::optional<Features> LoadFeatures(const std::filesystem::path& file, const FeatureKey& key,
                                     const TextSplit& split, const LabelSpec& labels,
                                     const text::Tokenizer& tokenizer, int max_length, Log& log);
std::optional<QaWindows> LoadWindows(const std::filesystem::path& file, const FeatureKey& key,
                                     const QaDataset& dataset, const text::Tokenizer& tokenizer,
                                     const QaWindowOptions& options, Log& log);

// Write-then-rename. A folder that cannot be written gives a warning: the run goes on without.
void SaveFeatures(const Features& features, const std::filesystem::path& file,
                  const FeatureKey& key, Log& log);
void SaveWindows(const QaWindows& windows, const std::filesystem::path& file, const FeatureKey& key,
                 Log& log);

}  // namespace hagane::data
