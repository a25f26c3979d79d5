// Tables of text, row by row: CSV by RFC 4180, TSV without any quoting (a `"` is a character).
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/mapped_file.h"

namespace hagane::data {

struct Delimiter {
  char separator;
  bool quoting;
};
inline constexpr Delimiter kCsv{',', true};
inline constexpr Delimiter kTsv{'\t', false};

// UTF-8, a BOM is skipped; lines end in LF or CR LF (CSV: also in CR alone). Rows without anything
// but blanks are skipped, as pandas does.
class DelimitedReader {
 public:
  DelimitedReader(const std::filesystem::path& path, Delimiter delimiter);

  // The next row; false at the end of the file. What the accessors return lives until the next
  // call. Throws an Error when a quoted cell never ends.
  bool Next();

  const std::vector<std::string_view>& cells() const { return cells_; }
  std::string_view raw() const { return raw_; }  // the row without its line end
  int64_t line() const { return line_; }         // of the file, from 1: where the row begins
  std::string Place() const;                     // "folder/train.csv:4"
  // Place() and the row as it stands in the file, cut to width: the beginning of an error's
  // sentence.
  Error RaggedRow(size_t expected_cells) const;

 private:
  void ReadPlainRow();
  void ReadQuotedRow();
  std::string_view ReadQuotedCell();
  void AddCell(std::string_view cell);

  std::filesystem::path path_;
  std::shared_ptr<const io::MappedFile> file_;
  Delimiter delimiter_;
  std::string_view text_;
  size_t position_ = 0;
  int64_t line_ = 0, next_line_ = 1;
  std::string_view raw_;
  std::vector<std::string_view> cells_;
  std::deque<std::string> unquoted_;  // cells of this row that differ from the file's bytes
};

// The text of a whole file after its BOM; an Error for UTF-16, which would give nonsense in
// silence.
std::string_view Utf8Text(const io::MappedFile& file, const std::filesystem::path& path);

// Text cut to a message's width between characters, control characters made visible.
std::string Excerpt(std::string_view text, size_t width = 80);

}  // namespace hagane::data
