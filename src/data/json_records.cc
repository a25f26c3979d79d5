#include "data/json_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/delimited.h"
#include "io/json.h"

namespace hagane::data {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
// An article of SQuAD has some thousand values.
constexpr io::JsonLimits kRecordLimits{size_t{16} << 20, 64, size_t{1} << 19};

}  // namespace

JsonRecords::JsonRecords(const std::filesystem::path& path)
    : path_(path), file_(io::MappedFile::Open(path)), text_(Utf8Text(*file_, path)) {
  form_ = FindForm();
}

JsonRecords::Form JsonRecords::FindForm() {
  position_ = SkipBlanks(0);
  if (position_ == text_.size()) return Form::kLines;
  if (text_[position_] == '[') {
    ++position_;
    return Form::kArray;
  }
  if (text_[position_] != '{') return Form::kLines;
  const size_t end = ValueEnd(position_);
  if (end == text_.npos) return Form::kLines;
  if (SkipBlanks(end) == text_.size()) {  // one object in the whole file
    const size_t array = FindMember(position_, "data");
    if (array != text_.npos && text_[array] == '[') {
      object_ = position_;
      position_ = array + 1;
      return Form::kArray;
    }
  }
  const bool on_one_line = text_.substr(position_, end - position_).find('\n') == text_.npos;
  return on_one_line ? Form::kLines : Form::kSequence;
}

bool JsonRecords::Next(nlohmann::ordered_json* record) {
  const std::string_view text = NextText();
  if (text.empty()) return false;
  MoveTo(static_cast<size_t>(text.data() - text_.data()));
  *record = io::ParseJson(text, path_.string(), kRecordLimits, text_);
  if (!record->is_object()) {
    throw Error(
        fmt::format("{}: expected a JSON object, found {}", Place(), Excerpt(text)),
        "write one object per line, as {\"sentence1\": \"...\", \"label\": 1}, or one array "
        "of objects");
  }
  return true;
}

std::string_view JsonRecords::NextText() {
  return form_ == Form::kLines ? NextLine() : NextValue();
}

std::string_view JsonRecords::NextLine() {
  const size_t begin = SkipBlanks(position_);
  const size_t end = std::min(text_.find('\n', begin), text_.size());
  position_ = end;
  std::string_view line = text_.substr(begin, end - begin);
  while (!line.empty() && kBlanks.find(line.back()) != kBlanks.npos) line.remove_suffix(1);
  return line;
}

std::string_view JsonRecords::NextValue() {
  size_t begin = SkipBlanks(position_);
  MoveTo(std::min(begin, text_.size()));
  if (form_ == Form::kArray) {
    if (begin == text_.size()) throw Broken("the array has no end");
    if (text_[begin] == ']') {
      if (object_ == text_.npos && SkipBlanks(begin + 1) < text_.size())
        throw Broken("text behind the array");
      return {};
    }
    if (!first_) {
      if (text_[begin] != ',') throw Broken("expected a comma or the end of the array");
      begin = SkipBlanks(begin + 1);
      MoveTo(std::min(begin, text_.size()));
    }
  }
  if (begin == text_.size()) return {};
  first_ = false;
  const size_t end = ValueEnd(begin);
  if (end == text_.npos) throw Broken("the record has no end");
  if (end == begin) throw Broken("expected a record");
  position_ = end;
  return text_.substr(begin, end - begin);
}

size_t JsonRecords::SkipBlanks(size_t position) const {
  return std::min(text_.find_first_not_of(kBlanks, position), text_.size());
}

size_t JsonRecords::ValueEnd(size_t position) const {
  int depth = 0;
  for (size_t i = position; i < text_.size(); ++i) {
    switch (text_[i]) {
      case '"':
        for (++i; i < text_.size() && text_[i] != '"'; ++i) i += text_[i] == '\\';
        if (depth == 0) return i < text_.size() ? i + 1 : text_.npos;
        break;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (depth <= 1) return depth == 1 ? i + 1 : i;
        --depth;
        break;
      case ',':
        if (depth == 0) return std::max(i, position + 1);
        break;
    }
  }
  return depth == 0 ? text_.size() : text_.npos;
}

std::string_view JsonRecords::Member(std::string_view name) const {
  if (object_ == text_.npos) return {};
  const size_t value = FindMember(object_, name);
  return value == text_.npos ? std::string_view() : text_.substr(value, ValueEnd(value) - value);
}

size_t JsonRecords::FindMember(size_t object, std::string_view name) const {
  for (size_t i = SkipBlanks(object + 1); i < text_.size() && text_[i] == '"';) {
    const size_t name_end = ValueEnd(i);
    if (name_end == text_.npos) break;
    const std::string_view found = text_.substr(i + 1, name_end - i - 2);
    const size_t colon = SkipBlanks(name_end);
    const size_t value = SkipBlanks(colon + 1);
    if (value >= text_.size() || text_[colon] != ':') break;
    const size_t value_end = ValueEnd(value);
    if (value_end == text_.npos) break;
    if (found == name) return value;
    const size_t comma = SkipBlanks(value_end);
    if (comma >= text_.size() || text_[comma] != ',') break;
    i = SkipBlanks(comma + 1);
  }
  return text_.npos;
}

void JsonRecords::MoveTo(size_t position) {
  line_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(line_position_),
                      text_.begin() + static_cast<std::ptrdiff_t>(position), '\n');
  line_position_ = position;
}

std::string JsonRecords::Place() const { return fmt::format("{}:{}", path_.string(), line_); }

Error JsonRecords::Broken(const std::string& what) const {
  return Error(fmt::format("{}: {}: {}", Place(), what, Excerpt(text_.substr(line_position_))),
               "the file is cut off, or not JSON");
}

}  // namespace hagane::data
