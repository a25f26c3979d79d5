#include "data/delimited.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/printable.h"

namespace hagane::data {
namespace {

// A cell takes some 50 bytes besides its text: rows of separators alone would cost many times the
// file.
constexpr size_t kMostCells = size_t{1} << 18;

// Ends of lines: LF, CR LF and, in CSV, CR alone.
int64_t LineEnds(std::string_view text, const Delimiter& delimiter) {
  int64_t count = std::count(text.begin(), text.end(), '\n');
  if (!delimiter.quoting) return count;
  for (size_t i = text.find('\r'); i != text.npos; i = text.find('\r', i + 1)) {
    count += i + 1 == text.size() || text[i + 1] != '\n';
  }
  return count;
}

}  // namespace

DelimitedReader::DelimitedReader(const std::filesystem::path& path, Delimiter delimiter)
    : path_(path),
      file_(io::MappedFile::Open(path)),
      delimiter_(delimiter),
      text_(Utf8Text(*file_, path)) {}

bool DelimitedReader::Next() {
  while (position_ < text_.size()) {
    const size_t begin = position_;
    line_ = next_line_;
    cells_.clear();
    unquoted_.clear();
    delimiter_.quoting ? ReadQuotedRow() : ReadPlainRow();
    raw_ = text_.substr(begin, position_ - begin);
    next_line_ += LineEnds(raw_, delimiter_);
    while (!raw_.empty() && (raw_.back() == '\n' || raw_.back() == '\r')) raw_.remove_suffix(1);
    const bool blank =
        raw_.find_first_not_of(delimiter_.separator == '\t' ? " " : " \t") == raw_.npos;
    if (!blank) return true;
  }
  return false;
}

void DelimitedReader::ReadPlainRow() {
  const size_t newline = text_.find('\n', position_);
  const size_t end = std::min(newline, text_.size());
  std::string_view row = text_.substr(position_, end - position_);
  position_ = newline == text_.npos ? end : end + 1;
  if (row.ends_with('\r')) row.remove_suffix(1);
  while (true) {
    const size_t separator = row.find(delimiter_.separator);
    AddCell(row.substr(0, separator));
    if (separator == row.npos) return;
    row.remove_prefix(separator + 1);
  }
}

void DelimitedReader::ReadQuotedRow() {
  const char ends[] = {delimiter_.separator, '\n', '\r', '\0'};
  while (true) {
    if (position_ < text_.size() && text_[position_] == '"') {
      AddCell(ReadQuotedCell());
    } else {
      const size_t end = std::min(text_.find_first_of(ends, position_, 3), text_.size());
      AddCell(text_.substr(position_, end - position_));
      position_ = end;
    }
    if (position_ == text_.size()) return;
    const char end = text_[position_++];
    if (end == delimiter_.separator) continue;
    if (end == '\r' && position_ < text_.size() && text_[position_] == '\n') ++position_;
    return;
  }
}

void DelimitedReader::AddCell(std::string_view cell) {
  if (cells_.size() >= kMostCells) {
    throw Error(fmt::format("{}: the row has more than {} columns", Place(), kMostCells),
                "the file is no table of texts");
  }
  cells_.push_back(cell);
}

std::string_view DelimitedReader::ReadQuotedCell() {
  const size_t open = position_++;
  const auto closing_quote = [&] {
    const size_t quote = text_.find('"', position_);
    if (quote != text_.npos) return quote;
    const int64_t line = 1 + LineEnds(text_.substr(0, open), delimiter_);
    throw Error(fmt::format("{}:{}: a quoted cell begins here and never ends: {}", path_.string(),
                            line, Excerpt(text_.substr(open))),
                "inside quotes write a quote twice (\"\"), or quote the cell");
  };
  size_t close = closing_quote();
  std::string_view cell = text_.substr(position_, close - position_);
  position_ = close + 1;
  const auto at_end = [&] {
    return position_ == text_.size() || text_[position_] == delimiter_.separator ||
           text_[position_] == '\n' || text_[position_] == '\r';
  };
  if (at_end()) return cell;

  std::string& joined = unquoted_.emplace_back(cell);
  while (!at_end()) {
    if (text_[position_] == '"') {  // doubled: one quote, and the cell goes on
      joined += '"';
      ++position_;
      close = closing_quote();
      joined += text_.substr(position_, close - position_);
      position_ = close + 1;
    } else {  // text behind the closing quote belongs to the cell, as pandas reads it
      joined += text_[position_++];
    }
  }
  return joined;
}

std::string DelimitedReader::Place() const { return fmt::format("{}:{}", path_.string(), line_); }

Error DelimitedReader::RaggedRow(size_t expected_cells) const {
  const bool comma = delimiter_.separator == ',';
  return Error(
      fmt::format("{}: the row has {} {}, the first row has {}: {}", Place(), cells_.size(),
                  cells_.size() == 1 ? "column" : "columns", expected_cells, Excerpt(raw_)),
      comma ? "columns are separated by commas; a cell that holds one needs quotes around it"
            : "columns are separated by tabs, quotes have no meaning; the row lacks a tab or "
              "holds one too many");
}

std::string_view Utf8Text(const io::MappedFile& file, const std::filesystem::path& path) {
  const auto bytes = file.bytes();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    throw Error(fmt::format("{} is UTF-16, expected UTF-8", path.string()),
                fmt::format("convert it: iconv -f UTF-16 -t UTF-8 {} > utf8{}",
                            path.filename().string(), path.extension().string()));
  }
  return text;
}

std::string Excerpt(std::string_view text, size_t width) {
  std::string_view kept = text;
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (starts && ++characters > width) {
      kept = text.substr(0, i);
      break;
    }
  }
  std::string shown;
  for (const char c : kept) {
    if (c == '\t') {
      shown += "\\t";
    } else if (c == '\n') {
      shown += "\\n";
    } else {
      shown += c;
    }
  }
  shown = io::Printable(shown, shown.size());
  return kept.size() < text.size() ? shown + "..." : shown;
}

}  // namespace hagane::data
