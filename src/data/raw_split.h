// One file of the user's own, read but not understood yet: texts, and labels as they are written.
// What the labels mean is learnt from all rows of the train file (labels.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"

namespace hagane::data {

struct RawLabel {
  enum class Kind {
    kMissing,  // an empty or blank cell or an NA word; JSON: null, or no such key
    kText,     // also every other cell of CSV and TSV, which have no types
    kInteger,
    kReal,
    kBoolean,
    kList,  // JSON only
  };
  Kind kind = Kind::kMissing;
  std::string text;             // numbers: as JSON writes them; true, false
  std::vector<RawLabel> items;  // of a list
};

struct RawSplit {
  std::filesystem::path path;
  bool has_types = false;  // JSON: labels come with their type; CSV and TSV: it is inferred
  std::vector<std::string> text_a, text_b;
  std::vector<RawLabel> labels;  // empty when not asked for
  std::vector<int64_t> lines;    // of the file, where each row begins

  int64_t rows() const { return static_cast<int64_t>(text_a.size()); }
  std::string Place(size_t row) const;  // "folder/train.csv:4"
};

inline constexpr const char* kLabelColumn = "label";

struct TextColumns {
  std::string a;
  std::optional<std::string> b;
};

// Names in the first row (JSON: the keys of the first record). The type is the extension: .csv,
// .tsv, .json, .jsonl. Throws an Error for any other, for an empty file and for a name that occurs
// twice.
std::vector<std::string> ReadColumnNames(const std::filesystem::path& path);

// sentence1 and sentence2 if both are there; else the first two columns other than `label`; else
// the only one. Says which were taken, with a warning when there was a choice to get wrong.
TextColumns ChooseTextColumns(const std::vector<std::string>& names,
                              const std::filesystem::path& path, Log& log);

// Throws an Error naming file and row: a missing column, a ragged row, no row at all.
RawSplit ReadRawSplit(const std::filesystem::path& path, const TextColumns& columns,
                      bool with_labels, Log& log);

}  // namespace hagane::data
