#include "io/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "io/atomic_write.h"
#include "io/printable.h"

namespace hagane::io {
namespace {

using Json = nlohmann::ordered_json;

// What stands in for Python's NaN and infinities while nlohmann-json reads: it has no words for
// them.
constexpr std::string_view kConstants[][2] = {{"-Infinity", "\"\\u0000-Infinity\""},
                                              {"Infinity", "\"\\u0000Infinity\""},
                                              {"NaN", "\"\\u0000NaN\""}};
constexpr double kConstantValues[] = {-std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN()};

std::string ReplacePythonConstants(std::string_view text) {
  std::string replaced;
  bool inside = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (!inside && (c == 'N' || c == 'I' || c == '-')) {
      const auto* constant =
          std::find_if(std::begin(kConstants), std::end(kConstants),
                       [&](const auto& pair) { return text.substr(i).starts_with(pair[0]); });
      if (constant != std::end(kConstants)) {
        replaced += (*constant)[1];
        i += (*constant)[0].size();
        continue;
      }
    }
    if (c == '"') inside = !inside;
    const size_t length = inside && c == '\\' && i + 1 < text.size() ? 2 : 1;
    replaced += text.substr(i, length);
    i += length;
  }
  return replaced;
}

// Builds the tree from the parser's events. Not nlohmann's own builder, for three reasons: the
// limits, duplicate keys, and its search through all earlier keys for each new one of an ordered
// object (quadratic in a vocabulary).
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, const std::string& origin, const JsonLimits& limits,
          std::string_view whole)
      : text_(text), whole_(whole), origin_(origin), limits_(limits) {}

  Json Take() { return std::move(values_.front()); }

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(int64_t value) override { return Add(value); }
  bool number_unsigned(uint64_t value) override { return Add(value); }
  bool number_float(double value, const std::string&) override { return Add(value); }
  bool binary(Json::binary_t&) override { return false; }
  bool string(std::string& value) override {
    if (limits_.python_constants && !value.empty() && value.front() == '\0') {
      for (size_t i = 0; i < std::size(kConstants); ++i) {
        if (std::string_view(value).substr(1) == kConstants[i][0]) return Add(kConstantValues[i]);
      }
    }
    return Add(std::move(value));
  }

  bool start_object(size_t) override { return Open(); }
  bool key(std::string& name) override {
    keys_.push_back(std::move(name));
    return true;
  }
  bool end_object() override {
    const Frame frame = Close();
    CheckKeys(frame.first_key);
    Json object = Json::object();
    auto* members = object.get_ptr<Json::object_t*>();
    members->reserve(values_.size() - frame.first_value);
    for (size_t i = frame.first_value; i < values_.size(); ++i) {
      // Straight into the underlying vector: the keys are known to differ.
      members->emplace_back(std::move(keys_[frame.first_key + i - frame.first_value]),
                            std::move(values_[i]));
    }
    keys_.resize(frame.first_key);
    values_.resize(frame.first_value);
    return Add(std::move(object));
  }

  bool start_array(size_t) override { return Open(); }
  bool end_array() override {
    const Frame frame = Close();
    const auto first = values_.begin() + static_cast<std::ptrdiff_t>(frame.first_value);
    Json array = Json::array();
    array.get_ref<Json::array_t&>().assign(std::make_move_iterator(first),
                                           std::make_move_iterator(values_.end()));
    values_.resize(frame.first_value);
    return Add(std::move(array));
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& problem) override {
    // "[json.exception...] parse error at line 1, column 2: what": the place is told in our own
    // way.
    std::string_view what = problem.what();
    if (const size_t place = what.find("column "); place != what.npos) {
      if (const size_t colon = what.find(": ", place); colon != what.npos) {
        what.remove_prefix(colon + 2);
      }
    } else if (const size_t bracket = what.find("] "); bracket != what.npos) {
      what.remove_prefix(bracket + 2);
    }
    const std::string_view before = Before(std::min(position > 0 ? position - 1 : 0, text_.size()));
    const size_t line_start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
    throw Error(fmt::format("{}:{}:{}: not valid JSON: {}", origin_, LinesIn(before) + 1,
                            before.size() - line_start + 1, Printable(what, 200)));
  }

 private:
  struct Frame {
    size_t first_value, first_key;
  };

  template <class T>
  bool Add(T&& value) {
    if (++count_ > limits_.max_values) Fail(fmt::format("more than {} values", limits_.max_values));
    values_.emplace_back(std::forward<T>(value));
    return true;
  }
  bool Open() {
    if (static_cast<int>(frames_.size()) >= limits_.max_depth) {
      Fail(fmt::format("nested more than {} deep", limits_.max_depth));
    }
    frames_.push_back({values_.size(), keys_.size()});
    return true;
  }
  Frame Close() {
    const Frame frame = frames_.back();
    frames_.pop_back();
    return frame;
  }
  void CheckKeys(size_t first) const {
    std::unordered_set<std::string_view> seen;
    seen.reserve(keys_.size() - first);
    for (size_t i = first; i < keys_.size(); ++i) {
      if (!seen.insert(keys_[i]).second) {
        Fail(fmt::format("key \"{}\" is there twice in one object", Printable(keys_[i])));
      }
    }
  }
  [[noreturn]] void Fail(const std::string& why) const {
    if (whole_.empty()) throw Error(fmt::format("{}: {}", origin_, why));
    throw Error(fmt::format("{}:{}: {}", origin_, LinesIn(Before(0)) + 1, why));
  }
  // What stands before that byte of the text.
  std::string_view Before(size_t position) const {
    if (whole_.empty()) return text_.substr(0, position);
    return whole_.substr(0, static_cast<size_t>(text_.data() - whole_.data()) + position);
  }
  static int64_t LinesIn(std::string_view text) {
    return std::count(text.begin(), text.end(), '\n');
  }

  std::string_view text_, whole_;
  const std::string& origin_;
  JsonLimits limits_;
  std::vector<Frame> frames_;
  std::vector<Json> values_;
  std::vector<std::string> keys_;
  size_t count_ = 0;
};

}  // namespace

size_t LongestJsonPiece(std::string_view json) {
  size_t longest = 0, start = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"' || (!in_string && (c == ',' || c == ':' || c == '{' || c == '['))) {
      in_string = in_string != (c == '"');
      longest = std::max(longest, i - start);
      start = i;
    }
  }
  return std::max(longest, json.size() - start);
}

Json ParseJson(std::string_view text, const std::string& origin, JsonLimits limits,
               std::string_view whole) {
  if (text.size() > limits.max_bytes) {
    throw Error(
        fmt::format("{} is larger than the {} bytes that it may have", origin, limits.max_bytes));
  }
  if (LongestJsonPiece(text) > kLongestJsonPiece) {
    throw Error(fmt::format("{} has a string or number of more than {} MB", origin,
                            kLongestJsonPiece >> 20));
  }
  std::string replaced;
  if (limits.python_constants &&
      (text.find("NaN") != text.npos || text.find("Infinity") != text.npos)) {
    replaced = ReplacePythonConstants(text);
    text = replaced;
    whole = {};
  }
  Builder builder(text, origin, limits, whole);
  Json::sax_parse(text, &builder);
  return builder.Take();
}

Json ReadJsonFile(const std::filesystem::path& path, JsonLimits limits) {
  return ParseJson(ReadFile(path, limits.max_bytes), path.string(), limits);
}

}  // namespace hagane::io
