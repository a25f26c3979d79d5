#include "cli/flag_parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "data/nearest.h"
#include "io/json.h"

namespace hagane::cli {

namespace {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::optional<bool> ParseBoolWord(std::string_view word) {
  const std::string lower = LowerCase(word);
  for (const char* yes : {"yes", "true", "t", "y", "1"})
    if (lower == yes) return true;
  for (const char* no : {"no", "false", "f", "n", "0"})
    if (lower == no) return false;
  return std::nullopt;
}

template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool IsNumber(std::string_view text) { return ParseNumber<double>(text).has_value(); }

// What argparse takes for an option: a dash in front, not a number, no blank inside.
bool LooksLikeFlag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !IsNumber(word) &&
         word.find(' ') == std::string_view::npos;
}

[[noreturn]] void WrongValue(const Flag& flag, std::string_view value,
                             const std::string& expected) {
  throw UsageError(fmt::format("--{}: '{}' is not {}", flag.name, value, expected));
}

FlagValue ParseChoice(const Flag& flag, const std::string& text) {
  if (flag.choices.empty()) return text;
  const std::string lower = LowerCase(text);
  if (std::find(flag.choices.begin(), flag.choices.end(), lower) != flag.choices.end())
    return lower;
  const std::string nearest = data::Nearest(lower, flag.choices);
  throw UsageError(
      fmt::format("--{}: '{}' is not one of {}", flag.name, text, fmt::join(flag.choices, ", ")),
      nearest.empty() ? "" : fmt::format("did you mean --{} {}?", flag.name, nearest));
}

FlagValue ParseDict(const Flag& flag, const std::string& text) {
  bool is_object = false;
  try {
    is_object = io::ParseJson(text, "the value of --" + flag.name, io::kConfigLimits).is_object();
  } catch (const Error& error) {
    throw UsageError(error.what(), error.hint());
  }
  if (!is_object) WrongValue(flag, text, "a JSON object such as '{\"key\": 1}'");
  return text;
}

FlagValue ParseValue(const Flag& flag, const std::string& text) {
  switch (flag.type) {
    case FlagType::kBool:
    case FlagType::kOptionalBool:
      if (const auto value = ParseBoolWord(text)) return *value;
      WrongValue(flag, text, "a truth value (yes/no, true/false, t/f, y/n, 1/0)");
    case FlagType::kInt:
      if (const auto value = ParseNumber<int64_t>(text)) return *value;
      WrongValue(flag, text, "a whole number");
    case FlagType::kFloat: {
      const auto value = ParseNumber<double>(text);
      if (!value || !std::isfinite(*value)) WrongValue(flag, text, "a number");
      return *value;
    }
    case FlagType::kString:
      return ParseChoice(flag, text);
    case FlagType::kList:
      return std::vector<std::string>{text};
    case FlagType::kDict:
      return ParseDict(flag, text);
  }
  return std::monostate{};
}

FlagValue ParseJsonValue(const Flag& flag, const nlohmann::ordered_json& value) {
  if (value.is_string()) return ParseValue(flag, value.get<std::string>());
  if (flag.type == FlagType::kList && value.is_array()) {
    std::vector<std::string> words;
    for (const auto& word : value) {
      words.push_back(word.is_string() ? word.get<std::string>() : word.dump());
    }
    return words;
  }
  if (flag.type == FlagType::kInt && value.is_number_float()) {
    const double number = value.get<double>();
    if (number == std::floor(number) && std::abs(number) < 1e15)
      return static_cast<int64_t>(number);
  }
  const bool fits =
      flag.type == FlagType::kBool || flag.type == FlagType::kOptionalBool ? value.is_boolean()
      : flag.type == FlagType::kInt || flag.type == FlagType::kFloat       ? value.is_number()
      : flag.type == FlagType::kDict                                       ? value.is_object()
                                                                           : !value.is_structured();
  if (!fits) WrongValue(flag, value.dump(), "of the right type");
  return ParseValue(flag, value.dump());
}

}  // namespace

ParsedFlags::ParsedFlags(std::vector<Flag> table) : table_(std::move(table)) {
  for (size_t i = 0; i < table_.size(); ++i) {
    HAGANE_CHECK(index_.emplace(table_[i].name, i).second, table_[i].name);
    defaults_.push_back(table_[i].default_text.empty()
                            ? FlagValue{}
                            : ParseValue(table_[i], table_[i].default_text));
  }
  values_ = defaults_;
  given_.assign(table_.size(), false);
}

size_t ParsedFlags::Index(std::string_view name) const {
  const auto found = index_.find(name);
  HAGANE_CHECK(found != index_.end(), name);
  return found->second;
}

namespace {

template <class T>
std::optional<T> Get(const FlagValue& value, std::string_view name) {
  if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
  HAGANE_CHECK(std::holds_alternative<T>(value), name);
  return std::get<T>(value);
}

template <class T>
T Require(const std::optional<T>& value, std::string_view name) {
  HAGANE_CHECK(value.has_value(), name);
  return *value;
}

}  // namespace

std::optional<bool> ParsedFlags::OptionalBool(std::string_view name) const {
  return Get<bool>(values_[Index(name)], name);
}
std::optional<int64_t> ParsedFlags::OptionalInt(std::string_view name) const {
  return Get<int64_t>(values_[Index(name)], name);
}
std::optional<double> ParsedFlags::OptionalFloat(std::string_view name) const {
  return Get<double>(values_[Index(name)], name);
}
std::optional<std::string> ParsedFlags::OptionalString(std::string_view name) const {
  return Get<std::string>(values_[Index(name)], name);
}
bool ParsedFlags::Bool(std::string_view name) const { return Require(OptionalBool(name), name); }
int64_t ParsedFlags::Int(std::string_view name) const { return Require(OptionalInt(name), name); }
double ParsedFlags::Float(std::string_view name) const {
  return Require(OptionalFloat(name), name);
}
std::string ParsedFlags::String(std::string_view name) const {
  return OptionalString(name).value_or("");
}

bool ParsedFlags::given(std::string_view name) const { return given_[Index(name)]; }
bool ParsedFlags::changed(std::string_view name) const {
  return values_[Index(name)] != defaults_[Index(name)];
}

nlohmann::ordered_json ParsedFlags::ToJson() const {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (size_t i = 0; i < table_.size(); ++i) {
    if (table_[i].secret) continue;
    nlohmann::ordered_json& entry = json[table_[i].name];
    if (const auto* text = std::get_if<std::string>(&values_[i])) {
      entry = table_[i].type == FlagType::kDict ? nlohmann::ordered_json::parse(*text)
                                                : nlohmann::ordered_json(*text);
    } else if (const auto* words = std::get_if<std::vector<std::string>>(&values_[i])) {
      entry = *words;
    } else if (const auto* flag = std::get_if<bool>(&values_[i])) {
      entry = *flag;
    } else if (const auto* number = std::get_if<int64_t>(&values_[i])) {
      entry = *number;
    } else if (const auto* real = std::get_if<double>(&values_[i])) {
      entry = *real;
    }
  }
  return json;
}

// Reads the words one after the other into a ParsedFlags.
class FlagParser {
 public:
  FlagParser(std::vector<Flag> table, const std::vector<std::string>& args, std::string command)
      : flags_(std::move(table)), args_(args), command_(std::move(command)) {
    for (size_t i = 0; i < flags_.table_.size(); ++i) {
      const Flag& flag = flags_.table_[i];
      spellings_.emplace(flag.name, Target{i, false});
      for (const std::string& alias : flag.aliases) spellings_.emplace(alias, Target{i, false});
      if (flag.type == FlagType::kBool && flag.default_text == "True")
        spellings_.emplace("no_" + flag.name, Target{i, true});
    }
  }

  ParsedFlags Run() {
    if (!args_.empty() && !LooksLikeFlag(args_[0]) && args_[0].ends_with(".json")) {
      ReadJson(args_[0]);
      next_ = 1;
    }
    while (next_ < args_.size()) ParseOne();
    return std::move(flags_);
  }

 private:
  struct Target {
    size_t index;
    bool negated;  // --no_x
    bool operator<(const Target& other) const {
      return std::pair(index, negated) < std::pair(other.index, other.negated);
    }
  };

  void ParseOne() {
    const std::string& word = args_[next_++];
    if (!word.starts_with("--") || word.size() == 2) {
      if (word == "-h") return Set(Find("help"), true);
      throw UsageError(fmt::format("the argument '{}' belongs to no flag", word),
                       fmt::format("{} --help lists the flags", command_));
    }
    const size_t equals = word.find('=');
    const Target target = Find(word.substr(2, equals == std::string::npos ? equals : equals - 2));
    const Flag& flag = flags_.table_[target.index];
    if (target.negated) {
      if (equals != std::string::npos)
        throw UsageError(fmt::format("--no_{} takes no value", flag.name));
      return Set(target, false);
    }
    if (equals != std::string::npos) return Set(target, ParseValue(flag, word.substr(equals + 1)));
    const bool value_follows = next_ < args_.size() && !LooksLikeFlag(args_[next_]);
    if (!value_follows) {
      if (flag.type == FlagType::kBool) return Set(target, true);
      throw UsageError(fmt::format("--{} needs a value", flag.name));
    }
    if (flag.type == FlagType::kList) return Set(target, Words());
    Set(target, ParseValue(flag, args_[next_++]));
  }

  std::vector<std::string> Words() {
    std::vector<std::string> words;
    while (next_ < args_.size() && !LooksLikeFlag(args_[next_])) words.push_back(args_[next_++]);
    return words;
  }

  Target Find(std::string name) const {
    std::replace(name.begin(), name.end(), '-', '_');
    if (const auto exact = spellings_.find(name); exact != spellings_.end()) return exact->second;
    if (!name.empty()) {
      // The reference's own flags first: hagane's must not make their prefixes ambiguous.
      for (const bool own : {false, true}) {
        std::set<Target> targets;
        std::vector<std::string> matches;
        for (auto it = spellings_.lower_bound(name);
             it != spellings_.end() && it->first.starts_with(name); ++it) {
          if ((flags_.table_[it->second.index].group == FlagGroup::kHagane) != own) continue;
          targets.insert(it->second);
          matches.push_back("--" + it->first);
        }
        if (targets.size() == 1) return *targets.begin();
        if (targets.size() > 1)
          throw UsageError(fmt::format("--{} could be any of {}", name, fmt::join(matches, ", ")),
                           "write more of its name");
      }
    }
    std::vector<std::string> names;
    for (const auto& [spelling, target] : spellings_) names.push_back(spelling);
    const std::string nearest = data::Nearest(name, names);
    throw UsageError(fmt::format("unknown flag --{}", name),
                     nearest.empty() ? fmt::format("{} --help_all lists all flags", command_)
                                     : fmt::format("did you mean --{}?", nearest));
  }

  void Set(const Target& target, FlagValue value) {
    flags_.values_[target.index] = std::move(value);
    flags_.given_[target.index] = true;
  }

  void ReadJson(const std::string& path) {
    const nlohmann::ordered_json json =
        WithHint("the first argument is taken for a JSON file of arguments",
                 [&] { return io::ReadJsonFile(path, io::kConfigLimits); });
    if (!json.is_object())
      throw UsageError(fmt::format("{} does not hold a JSON object of arguments", path));
    for (const auto& [key, value] : json.items()) {
      const auto found = spellings_.find(key);
      if (found == spellings_.end() || found->second.negated) {
        std::vector<std::string> names;
        for (const auto& [spelling, target] : spellings_) names.push_back(spelling);
        const std::string nearest = data::Nearest(key, names);
        throw UsageError(fmt::format("{}: unknown argument \"{}\"", path, key),
                         nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest));
      }
      if (value.is_null()) continue;
      Set(found->second, ParseJsonValue(flags_.table_[found->second.index], value));
    }
  }

  ParsedFlags flags_;
  const std::vector<std::string>& args_;
  std::string command_;
  std::map<std::string, Target> spellings_;  // names, aliases, --no_x
  size_t next_ = 0;
};

ParsedFlags ParseFlags(std::vector<Flag> table, const std::vector<std::string>& args,
                       const std::string& command) {
  return FlagParser(std::move(table), args, command).Run();
}

}  // namespace hagane::cli
