#include "data/labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/error.h"
#include "data/delimited.h"
#include "data/nearest.h"

namespace hagane::data {
namespace {

using Kind = RawLabel::Kind;

// Numbers as pandas accepts them in a column: blanks around and a plus sign in front are allowed.
std::string_view NumberText(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

template <class T>
std::optional<T> Parse(std::string_view text) {
  text = NumberText(text);
  T value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> ParseBoolean(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

const char* NameOfKind(Kind kind) {
  switch (kind) {
    case Kind::kInteger:
    case Kind::kReal:
      return "a number";
    case Kind::kBoolean:
      return "true or false";
    case Kind::kList:
      return "a list";
    case Kind::kMissing:
      return "missing";
    case Kind::kText:
      break;
  }
  return "text";
}

bool IsNumber(const RawLabel& label) {
  return label.kind == Kind::kInteger || label.kind == Kind::kReal;
}

bool IsZeroOrOne(const RawLabel& label) {
  const auto value = IsNumber(label) ? Parse<double>(label.text) : std::nullopt;
  return value && (*value == 0 || *value == 1);
}

Error Missing(const RawSplit& raw, size_t row) {
  const std::string& written = raw.labels[row].text;
  return Error(fmt::format("{}: the label is missing{}", raw.Place(row),
                           written.empty() ? ""
                                           : fmt::format(" (\"{}\" stands for a missing value)",
                                                         Excerpt(written))),
               "fill it in, or remove the row");
}

// At most ten, for a message.
std::string List(const std::vector<std::string>& names) {
  const size_t shown = std::min<size_t>(names.size(), 10);
  return Excerpt(
      fmt::format(
          "{}{}",
          fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
          shown < names.size() ? fmt::format(" and {} more", names.size() - shown) : ""),
      400);
}

}  // namespace

LabelCodec LabelCodec::Learn(const RawSplit& train, Log& log) {
  for (size_t row = 0; row < train.labels.size(); ++row) {
    if (train.labels[row].kind == Kind::kMissing) throw Missing(train, row);
  }
  LabelCodec codec;
  codec.train_file_ = train.path.string();
  codec.type_ = InferType(train, &codec.name_type_);
  LabelSpec& spec = codec.spec_;
  if (codec.type_ == Type::kReal) {
    spec = {ProblemType::kRegression, 1, {}, MetricSet::kMse};
    bool whole = true;
    for (size_t row = 0; row < train.labels.size(); ++row) {
      const float value = codec.Number(train.labels[row], train, row);
      whole = whole && value == std::floor(value);
    }
    if (whole) {
      log.Warning(
          fmt::format("{}: the labels are decimals, so the model learns a number, though all "
                      "of them are whole; for classes write 1, not 1.0",
                      train.path.string()));
    }
    return codec;
  }
  if (codec.type_ == Type::kVector) {
    const int outputs = static_cast<int>(train.labels[0].items.size());
    spec = {ProblemType::kMultiLabel, outputs, {}, MetricSet::kMicroF1};
    for (int i = 0; i < outputs; ++i) spec.names.push_back(fmt::format("LABEL_{}", i));
    return codec;
  }
  spec.problem = codec.type_ == Type::kNames ? ProblemType::kMultiLabel : ProblemType::kSingleLabel;
  spec.metrics = codec.type_ == Type::kNames ? MetricSet::kMicroF1 : MetricSet::kAccuracy;
  codec.LearnNames(train, log);
  return codec;
}

LabelCodec::Type LabelCodec::InferType(const RawSplit& train, Type* item_type) {
  const std::vector<RawLabel>& labels = train.labels;
  const auto all = [&](auto&& test) { return std::all_of(labels.begin(), labels.end(), test); };
  if (!train.has_types) {
    const auto is_integer = [](const RawLabel& l) { return Parse<int64_t>(l.text).has_value(); };
    const auto is_number = [](const RawLabel& l) { return Parse<double>(l.text).has_value(); };
    const auto is_boolean = [](const RawLabel& l) { return ParseBoolean(l.text).has_value(); };
    // Whole numbers beyond 64 bits are text to pandas, not decimals.
    const auto is_huge = [](const RawLabel& l) {
      const std::string_view text = NumberText(l.text);
      return text.size() > 18 && text.find_first_not_of("-0123456789") == text.npos &&
             !Parse<int64_t>(text);
    };
    Type type = Type::kText;
    if (all(is_integer)) {
      type = Type::kInteger;
    } else if (all(is_number) && std::none_of(labels.begin(), labels.end(), is_huge)) {
      type = Type::kReal;
    } else if (all(is_boolean)) {
      type = Type::kBoolean;
    }
    return *item_type = type;
  }

  const RawLabel& first = labels[0];
  for (size_t row = 0; row < labels.size(); ++row) {
    const bool same = labels[row].kind == first.kind || (IsNumber(labels[row]) && IsNumber(first));
    if (same) continue;
    throw Error(fmt::format("{}: the label is {}, that of the first row is {}", train.Place(row),
                            NameOfKind(labels[row].kind), NameOfKind(first.kind)),
                "write all labels in one way: with quotes, or without");
  }
  switch (first.kind) {
    case Kind::kInteger:
    case Kind::kReal: {
      const bool integers = all([](const RawLabel& l) { return l.kind == Kind::kInteger; });
      return *item_type = integers ? Type::kInteger : Type::kReal;
    }
    case Kind::kBoolean:
      return *item_type = Type::kBoolean;
    case Kind::kList:
      break;
    default:
      return *item_type = Type::kText;
  }

  const bool vectors = all([&](const RawLabel& l) {
    return l.items.size() == first.items.size() && !l.items.empty() &&
           std::all_of(l.items.begin(), l.items.end(), IsZeroOrOne);
  });
  if (vectors) return Type::kVector;
  // 0 or 1 twice in a list is no name twice: a place is missing somewhere.
  const bool only_zero_one = all(
      [](const RawLabel& l) { return std::all_of(l.items.begin(), l.items.end(), IsZeroOrOne); });
  const bool places = std::any_of(labels.begin(), labels.end(),
                                  [](const RawLabel& l) { return l.items.size() > 2; });
  for (size_t row = 0; only_zero_one && places && row < labels.size(); ++row) {
    if (labels[row].items.size() == first.items.size()) continue;
    throw Error(fmt::format("{}: the label list has {} items, that of the first row {}",
                            train.Place(row), labels[row].items.size(), first.items.size()),
                "a label list holds names, or one 0 or 1 for each class");
  }
  bool integers = true;
  for (size_t row = 0; row < labels.size(); ++row) {
    for (const RawLabel& item : labels[row].items) {
      integers = integers && item.kind == Kind::kInteger;
      if (item.kind == Kind::kText || item.kind == Kind::kInteger) continue;
      throw Error(fmt::format("{}: an item of the label list is {}", train.Place(row),
                              NameOfKind(item.kind)),
                  "a label list holds names, or one 0 or 1 for each class");
    }
  }
  *item_type = integers ? Type::kInteger : Type::kText;
  return Type::kNames;
}

void LabelCodec::LearnNames(const RawSplit& train, Log& log) {
  std::set<std::string> seen;
  const auto see = [&](const RawLabel& label) { seen.insert(*NameOf(label)); };
  for (const RawLabel& label : train.labels) {
    if (label.kind == Kind::kList) {
      std::for_each(label.items.begin(), label.items.end(), see);
    } else {
      see(label);
    }
  }
  std::vector<std::string>& names = spec_.names;
  names.assign(seen.begin(), seen.end());  // by bytes of UTF-8, which is by code point
  if (name_type_ == Type::kInteger) {
    std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return *Parse<int64_t>(a) < *Parse<int64_t>(b);
    });
  }
  if (names.size() < 2) {
    throw Error(names.empty() ? fmt::format("{}: no row has a label", train_file_)
                              : fmt::format("{}: all rows have the label \"{}\"", train_file_,
                                            Excerpt(names[0])),
                "there must be two classes at least");
  }
  const bool numbers = std::all_of(names.begin(), names.end(), [](const std::string& n) {
    return Parse<double>(n).has_value();
  });
  if (name_type_ == Type::kText && numbers) {
    log.Warning(
        fmt::format("{}: all labels are numbers written as text, so each is a class of its own "
                    "({}); remove the "
                    "quotes if the model is to learn a number",
                    train_file_, List(names)));
  }
  for (const std::string& name : names) ids_.emplace(name, static_cast<int32_t>(ids_.size()));
  spec_.outputs = static_cast<int>(names.size());
}

// As the class is called in train, whichever type the file of this label has.
std::optional<std::string> LabelCodec::NameOf(const RawLabel& label) const {
  if (name_type_ == Type::kInteger) {
    if (const auto value = Parse<int64_t>(label.text)) return std::to_string(*value);
    const auto decimal = Parse<double>(label.text);  // 3.0 where a file has a column of decimals
    if (decimal && *decimal == std::floor(*decimal) && std::abs(*decimal) < 1e15) {
      return std::to_string(static_cast<int64_t>(*decimal));
    }
    return std::nullopt;
  }
  if (name_type_ == Type::kBoolean) {
    const auto value = ParseBoolean(label.text);
    if (!value) return std::nullopt;
    return *value ? "True" : "False";
  }
  return label.text;
}

int32_t LabelCodec::ClassOf(const RawLabel& label, const RawSplit& raw, size_t row) const {
  const auto name = label.kind == Kind::kList ? std::nullopt : NameOf(label);
  const auto id = name ? ids_.find(*name) : ids_.end();
  if (id != ids_.end()) return id->second;
  const std::string nearest = Nearest(label.text, spec_.names);
  throw Error(fmt::format("{}: label \"{}\" does not occur in {}, whose labels are {}",
                          raw.Place(row), label.kind == Kind::kList ? "[...]" : Excerpt(label.text),
                          train_file_, List(spec_.names)),
              nearest.empty() ? "correct it, remove the row, or add such rows to the train file"
                              : fmt::format("is \"{}\" meant?", Excerpt(nearest)));
}

float LabelCodec::Number(const RawLabel& label, const RawSplit& raw, size_t row) const {
  const auto value = label.kind == Kind::kList ? std::nullopt : Parse<double>(label.text);
  if (value && std::isfinite(static_cast<float>(*value))) return static_cast<float>(*value);
  throw Error(fmt::format("{}: label \"{}\" is no finite number, as the labels of {} are",
                          raw.Place(row), Excerpt(label.text), train_file_),
              "decimal labels make the task a regression; correct or remove the row");
}

void LabelCodec::AppendOutputs(const RawLabel& label, const RawSplit& raw, size_t row,
                               std::vector<float>* outputs) const {
  const auto count = static_cast<size_t>(spec_.outputs);
  if (type_ == Type::kVector) {
    const bool fits = label.kind == Kind::kList && label.items.size() == count &&
                      std::all_of(label.items.begin(), label.items.end(), IsZeroOrOne);
    if (!fits) {
      throw Error(fmt::format("{}: the label is no list of {} numbers 0 or 1, as those of {} are",
                              raw.Place(row), count, train_file_));
    }
    for (const RawLabel& item : label.items) outputs->push_back(*Parse<float>(item.text));
    return;
  }
  if (label.kind != Kind::kList) {
    throw Error(fmt::format("{}: the label is {}, those of {} are lists", raw.Place(row),
                            NameOfKind(label.kind), train_file_));
  }
  const size_t begin = outputs->size();
  outputs->resize(begin + count, 0.0f);
  for (const RawLabel& item : label.items) {
    (*outputs)[begin + static_cast<size_t>(ClassOf(item, raw, row))] = 1.0f;
  }
}

void LabelCodec::Encode(const RawSplit& raw, TextSplit* split) const {
  for (size_t row = 0; row < raw.labels.size(); ++row) {
    const RawLabel& label = raw.labels[row];
    if (label.kind == Kind::kMissing) throw Missing(raw, row);
    switch (spec_.problem) {
      case ProblemType::kSingleLabel:
        split->class_labels.push_back(ClassOf(label, raw, row));
        break;
      case ProblemType::kRegression:
        split->float_labels.push_back(Number(label, raw, row));
        break;
      case ProblemType::kMultiLabel:
        AppendOutputs(label, raw, row, &split->float_labels);
        break;
      case ProblemType::kSpan:
        HAGANE_CHECK(false, "answers are not labels of a column");
    }
  }
  split->has_labels = true;
}

}  // namespace hagane::data
