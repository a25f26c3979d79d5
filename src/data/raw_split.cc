#include "data/raw_split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "data/delimited.h"
#include "data/json_records.h"
#include "data/nearest.h"
#include "text/utf8.h"

namespace hagane::data {
namespace {

using Json = nlohmann::ordered_json;

enum class FileType { kCsv, kTsv, kJson };

FileType TypeOf(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (extension == ".csv") return FileType::kCsv;
  if (extension == ".tsv") return FileType::kTsv;
  if (extension == ".json" || extension == ".jsonl") return FileType::kJson;
  throw Error(
      fmt::format("{}: the ending of the name says no file type that can be read", path.string()),
      "name it .csv, .tsv, .json or .jsonl, as its content is");
}

// pandas' words for a missing value: text in a text column, an error in the label column.
bool IsNaWord(std::string_view cell) {
  static constexpr std::array kWords = {
      "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
      "<NA>", "N/A",      "NA",  "NULL",    "NaN",      "None", "n/a",  "nan",    "null"};
  return std::find(kWords.begin(), kWords.end(), cell) != kWords.end();
}

bool IsBlank(std::string_view cell) { return cell.find_first_not_of(" \t\r\n") == cell.npos; }

Error Empty(const std::filesystem::path& path) {
  return Error(fmt::format("{} is empty", path.string()),
               "the first row names the columns, as sentence1,sentence2,label");
}

Error NoRows(const std::filesystem::path& path) {
  return Error(fmt::format("{} has a header and no rows", path.string()));
}

// A stray byte in a text costs one character; in a label it would go into config.json.
Error NotUtf8(const std::filesystem::path& path, int64_t line, std::string_view label) {
  return Error(
      fmt::format("{}:{}: the label \"{}\" is not UTF-8", path.string(), line, Excerpt(label)),
      "convert the file, as with: iconv -f LATIN1 -t UTF-8");
}

Error MissingColumn(const std::filesystem::path& path, const std::string& column,
                    const std::vector<std::string>& names) {
  std::string hint = "the first row names the columns";
  if (const std::string nearest = Nearest(column, names); !nearest.empty()) {
    hint = fmt::format("rename the column \"{}\" to \"{}\"", Excerpt(nearest), column);
  } else if (names.size() == 1 && names[0].find_first_of(";\t") != std::string::npos) {
    hint = names[0].find('\t') == std::string::npos
               ? "the cells seem to be separated by semicolons; save the file with commas"
               : "the cells seem to be separated by tabs; name the file .tsv";
  }
  return Error(fmt::format("{} has no column \"{}\"; its columns are: {}", path.string(), column,
                           Excerpt(fmt::format("{}", fmt::join(names, ", ")), 200)),
               hint);
}

std::vector<std::string> HeaderNames(const DelimitedReader& reader) {
  std::vector<std::string> names;
  for (const std::string_view cell : reader.cells()) {
    // An unnamed column (an index saved along) gets the name that pandas gives it.
    names.push_back(cell.empty() ? fmt::format("Unnamed: {}", names.size()) : std::string(cell));
  }
  return names;
}

std::vector<std::string> RecordNames(const Json& record) {
  std::vector<std::string> names;
  for (const auto& member : record.items()) names.push_back(member.key());
  return names;
}

size_t IndexOf(const std::vector<std::string>& names, const std::string& column,
               const std::filesystem::path& path) {
  const auto found = std::find(names.begin(), names.end(), column);
  if (found == names.end()) throw MissingColumn(path, column, names);
  return static_cast<size_t>(found - names.begin());
}

void ReadDelimited(Delimiter delimiter, const TextColumns& columns, bool with_labels,
                   RawSplit* split) {
  DelimitedReader reader(split->path, delimiter);
  if (!reader.Next()) throw Empty(split->path);
  const std::vector<std::string> names = HeaderNames(reader);
  const size_t a = IndexOf(names, columns.a, split->path);
  const size_t b = columns.b ? IndexOf(names, *columns.b, split->path) : 0;
  const size_t label = with_labels ? IndexOf(names, kLabelColumn, split->path) : 0;
  const auto text = [](std::string_view cell) {
    return IsBlank(cell) ? std::string() : std::string(cell);
  };

  while (reader.Next()) {
    const auto& cells = reader.cells();
    if (cells.size() != names.size()) throw reader.RaggedRow(names.size());
    split->text_a.push_back(text(cells[a]));
    if (columns.b) split->text_b.push_back(text(cells[b]));
    if (with_labels) {
      if (!text::IsValidUtf8(cells[label])) throw NotUtf8(split->path, reader.line(), cells[label]);
      const bool missing = IsBlank(cells[label]) || IsNaWord(cells[label]);
      split->labels.push_back({missing ? RawLabel::Kind::kMissing : RawLabel::Kind::kText,
                               std::string(cells[label]),
                               {}});
    }
    split->lines.push_back(reader.line());
  }
}

RawLabel ToRawLabel(const Json& value) {
  using Kind = RawLabel::Kind;
  switch (value.type()) {
    case Json::value_t::string:
      return {Kind::kText, value.get<std::string>(), {}};
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return {Kind::kInteger, value.dump(), {}};
    case Json::value_t::number_float:
      return {Kind::kReal, value.dump(), {}};
    case Json::value_t::boolean:
      return {Kind::kBoolean, value.dump(), {}};
    case Json::value_t::array: {
      RawLabel list{Kind::kList, "", {}};
      for (const Json& item : value) list.items.push_back(ToRawLabel(item));
      return list;
    }
    default:
      return {};
  }
}

class JsonSplitReader {
 public:
  JsonSplitReader(const TextColumns& columns, bool with_labels, RawSplit* split, Log* log)
      : columns_(columns),
        with_labels_(with_labels),
        split_(split),
        log_(log),
        records_(split->path) {}

  void Read() {
    Json record;
    while (records_.Next(&record)) {
      if (split_->rows() == 0) CheckFirst(record);
      split_->text_a.push_back(Text(record, columns_.a));
      if (columns_.b) split_->text_b.push_back(Text(record, *columns_.b));
      if (with_labels_) split_->labels.push_back(Label(record));
      split_->lines.push_back(records_.line());
    }
  }

 private:
  // A key that the first record lacks is a wrong file, not a wrong row.
  void CheckFirst(const Json& record) const {
    const std::vector<std::string> names = RecordNames(record);
    IndexOf(names, columns_.a, split_->path);
    if (columns_.b) IndexOf(names, *columns_.b, split_->path);
    if (with_labels_) IndexOf(names, kLabelColumn, split_->path);
  }

  std::string Text(const Json& record, const std::string& column) {
    const auto value = record.find(column);
    if (value != record.end() && value->is_string()) return value->get<std::string>();
    if (value != record.end() && (value->is_number() || value->is_boolean())) {
      if (!warned_) {
        log_->Warning(
            fmt::format("{}: \"{}\" is {}, not text; such values are read as they are written",
                        records_.Place(), column, value->dump()));
      }
      warned_ = true;
      return value->dump();
    }
    const bool none = value == record.end() || value->is_null();
    throw Error(fmt::format("{}: {}: {}", records_.Place(),
                            none ? fmt::format("there is no \"{}\"", column)
                                 : fmt::format("\"{}\" is no text", column),
                            Excerpt(record.dump(-1, ' ', false, Json::error_handler_t::replace))),
                "every record needs a text there; an empty one is written as \"\"");
  }

  static RawLabel Label(const Json& record) {
    const auto value = record.find(kLabelColumn);
    return value == record.end() ? RawLabel{} : ToRawLabel(*value);
  }

  const TextColumns& columns_;
  bool with_labels_;
  RawSplit* split_;
  Log* log_;
  JsonRecords records_;
  bool warned_ = false;
};

}  // namespace

std::string RawSplit::Place(size_t row) const {
  return fmt::format("{}:{}", path.string(), lines[row]);
}

std::vector<std::string> ReadColumnNames(const std::filesystem::path& path) {
  const FileType type = TypeOf(path);
  std::vector<std::string> names;
  if (type == FileType::kJson) {
    Json record;
    if (!JsonRecords(path).Next(&record)) throw Empty(path);
    names = RecordNames(record);
  } else {
    DelimitedReader reader(path, type == FileType::kCsv ? kCsv : kTsv);
    if (!reader.Next()) throw Empty(path);
    names = HeaderNames(reader);
  }
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) {
      throw Error(fmt::format("{}: two columns have the name \"{}\"", path.string(), Excerpt(name)),
                  "rename one of them in the first row");
    }
  }
  return names;
}

TextColumns ChooseTextColumns(const std::vector<std::string>& names,
                              const std::filesystem::path& path, Log& log) {
  const auto has = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (has("sentence1") && has("sentence2")) return {"sentence1", "sentence2"};

  std::vector<std::string> texts;
  std::copy_if(names.begin(), names.end(), std::back_inserter(texts),
               [](const std::string& name) { return name != kLabelColumn; });
  if (texts.empty()) {
    throw Error(
        fmt::format("{} has no column besides \"{}\"", path.string(), kLabelColumn),
        "texts are in the columns sentence1 and sentence2, or in the first ones of any name");
  }
  if (texts.size() == 1) return {texts[0], std::nullopt};
  static constexpr std::array kIndexNames = {"id", "idx", "index", "guid", "uid", "unnamed: 0"};
  const auto is_index = [](std::string name) {
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return std::find(kIndexNames.begin(), kIndexNames.end(), name) != kIndexNames.end();
  };
  if (texts.size() > 2 || is_index(texts[0]) || is_index(texts[1])) {
    log.Warning(
        fmt::format("{}: the texts are taken from the first two columns, \"{}\" and \"{}\"; name "
                    "the right ones "
                    "sentence1 and sentence2, or remove the others, if that is wrong",
                    path.string(), Excerpt(texts[0]), Excerpt(texts[1])));
  }
  return {texts[0], texts[1]};
}

RawSplit ReadRawSplit(const std::filesystem::path& path, const TextColumns& columns,
                      bool with_labels, Log& log) {
  RawSplit split;
  split.path = path;
  const FileType type = TypeOf(path);
  if (type == FileType::kJson) {
    split.has_types = true;
    JsonSplitReader(columns, with_labels, &split, &log).Read();
    if (split.rows() == 0) throw Empty(path);
  } else {
    ReadDelimited(type == FileType::kCsv ? kCsv : kTsv, columns, with_labels, &split);
    if (split.rows() == 0) throw NoRows(path);
  }
  return split;
}

}  // namespace hagane::data
