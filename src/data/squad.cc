#include "data/squad.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "data/code_points.h"
#include "data/delimited.h"
#include "data/json_records.h"
#include "data/python_text.h"

namespace hagane::data {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kNamedIds = 5;
constexpr char kForms[] =
    "the file must have SQuAD's form: {\"data\": [{\"paragraphs\": [{\"context\": ..., \"qas\": "
    "[{\"id\": ..., \"question\": ..., \"answers\": [{\"text\": ..., \"answer_start\": "
    "...}]}]}]}]}, "
    "or records {\"id\": ..., \"context\": ..., \"question\": ..., \"answers\": {\"text\": [...], "
    "\"answer_start\": [...]}}";

const Json* Find(const Json& object, const std::string& key) {
  const auto entry = object.find(key);
  return entry == object.end() || entry->is_null() ? nullptr : &*entry;
}

// Answers as a file gives them, whichever form they have.
struct RawAnswers {
  bool given = false;
  std::vector<std::string> texts;
  std::vector<int64_t> starts;  // -1: none that could be one
};

int64_t AnswerStart(const Json* value) {
  if (value == nullptr) return -1;
  if (value->is_number_integer()) return value->get<int64_t>();
  const double number = value->is_number_float() ? value->get<double>() : -1;
  return number >= 0 && number < 1e15 ? static_cast<int64_t>(number) : -1;
}

class Reader {
 public:
  Reader(const std::filesystem::path& path, const QaReadOptions& options)
      : options_(options), records_(path) {
    dataset_.name = options.name;
    dataset_.origin = path;
  }

  QaDataset Read() {
    Json record;
    while (!Full() && Next(&record)) Record(record);
    if (dataset_.examples.empty() && options_.max_examples.value_or(1) > 0) {
      throw Error(fmt::format("{} has no questions", dataset_.origin.string()), kForms);
    }
    const std::string_view version = records_.Member("version");
    dataset_.version_2 |=
        version.starts_with("2") || version.starts_with("\"2") || version.starts_with("\"v2");
    return std::move(dataset_);
  }

 private:
  bool Full() const {
    return options_.max_examples &&
           static_cast<int64_t>(dataset_.examples.size()) >= *options_.max_examples;
  }

  bool Next(Json* record) {
    try {
      return records_.Next(record);
    } catch (const Error& error) {
      throw Error(error.what(), kForms);
    }
  }

  void Record(const Json& record) {
    place_ = records_.Place();
    if (const Json* const paragraphs = Find(record, "paragraphs")) {
      if (!paragraphs->is_array()) throw Wrong("\"paragraphs\" is no list");
      size_t number = 0;
      for (const Json& paragraph : *paragraphs) {
        place_ = fmt::format("{}, paragraph {}", records_.Place(), ++number);
        Paragraph(paragraph);
      }
    } else if (record.contains("qas")) {
      Paragraph(record);
    } else {
      Flat(record);
    }
  }

  void Paragraph(const Json& paragraph) {
    if (!paragraph.is_object()) throw Wrong("a paragraph is no object");
    const Json* const questions = Find(paragraph, "qas");
    if (questions == nullptr || !questions->is_array()) throw Wrong("no list \"qas\"");
    if (questions->empty()) return;
    const int32_t context = AddContext(Text(Find(paragraph, "context"), "context"));
    for (const Json& question : *questions) {
      if (Full()) return;
      if (!question.is_object()) throw Wrong("a question is no object");
      Question(question, context, Text(Find(question, "question"), "question"),
               Answers(Find(question, "answers")));
    }
  }

  void Flat(const Json& record) {
    if (columns_.empty()) ChooseColumns(record);
    const int32_t context = AddContext(Text(Find(record, columns_[1]), columns_[1]));
    Question(record, context, Text(Find(record, columns_[0]), columns_[0]),
             Answers(Find(record, columns_[2])));
  }

  // By name, else by place, as the reference does.
  void ChooseColumns(const Json& record) {
    static constexpr const char* kNames[] = {"question", "context", "answers"};
    for (size_t i = 0; i < 3; ++i) {
      std::string name = kNames[i];
      if (!record.contains(name)) {
        auto other = record.begin();
        if (record.size() > i) std::advance(other, i);
        const bool answers_elsewhere =
            i == 2 && record.size() > i && (other->is_object() || other->is_array());
        if (i == 2 ? answers_elsewhere : record.size() > i) name = other.key();
      }
      columns_.push_back(std::move(name));
    }
  }

  int32_t AddContext(std::string context) {
    auto& contexts = dataset_.contexts;
    if (contexts.empty() || contexts.back() != context) {
      code_points_.reset();
      contexts.push_back(std::move(context));
    }
    return static_cast<int32_t>(contexts.size() - 1);
  }

  std::string Text(const Json* value, const std::string& key) const {
    if (value == nullptr) throw Wrong(fmt::format("no \"{}\"", key));
    if (value->is_string()) return value->get<std::string>();
    if (value->is_number()) return value->dump();
    throw Wrong(fmt::format("\"{}\" is no text: {}", key, Excerpt(value->dump())));
  }

  // [{text, answer_start} ..], {text: [..], answer_start: [..]} or one {text, answer_start}.
  RawAnswers Answers(const Json* value) const {
    RawAnswers answers;
    if (value == nullptr) return answers;
    answers.given = true;
    const auto add = [&](const Json* text, const Json* start) {
      answers.texts.push_back(Text(text, "text"));
      answers.starts.push_back(AnswerStart(start));
    };
    if (value->is_array()) {
      for (const Json& answer : *value) {
        if (!answer.is_object()) throw Wrong("an answer is no object");
        add(Find(answer, "text"), Find(answer, "answer_start"));
      }
      return answers;
    }
    if (!value->is_object()) throw Wrong("\"answers\" is neither a list nor an object");
    if (value->empty()) return answers;
    const Json* const texts = Find(*value, "text");
    const Json* const starts = Find(*value, "answer_start");
    if (texts == nullptr || !texts->is_array()) {
      add(texts, starts);
      return answers;
    }
    const size_t start_count = starts != nullptr && starts->is_array() ? starts->size() : 0;
    for (size_t i = 0; i < texts->size(); ++i)
      add(&(*texts)[i], i < start_count ? &(*starts)[i] : nullptr);
    return answers;
  }

  void Question(const Json& record, int32_t context, std::string question, RawAnswers answers) {
    QaExample example;
    example.context = context;
    example.question = WithoutLeadingBlanks(question);
    example.id = Id(Find(record, "id"));
    const Json* const impossible = Find(record, "is_impossible");
    const bool known_impossible = impossible != nullptr && impossible->is_boolean();
    const bool is_impossible = known_impossible && impossible->get<bool>();
    example.has_answers = answers.given || is_impossible;
    dataset_.version_2 |= is_impossible || (answers.given && answers.texts.empty());

    if (dataset_.context(example).find_first_not_of(" \t\r\n") == std::string::npos)
      Count(QaIssue::kEmptyContext, example.id);
    if (!example.has_answers) {
      Count(QaIssue::kUnknownAnswer, example.id);
    } else if (known_impossible && is_impossible != answers.texts.empty()) {
      Count(QaIssue::kContradiction, example.id);
    } else if (answers.texts.empty()) {
      example.target = QaTarget::kNoAnswer;
    } else {
      SetSpan(answers, &example);
    }
    example.answers = std::move(answers.texts);
    dataset_.examples.push_back(std::move(example));
  }

  // The first answer rules, as in the reference, as long as it is in the context.
  void SetSpan(const RawAnswers& answers, QaExample* example) {
    const std::string& context = dataset_.context(*example);
    const std::string& text = answers.texts.front();
    const int64_t start = answers.starts.front();
    if (!code_points_) code_points_.emplace(context);
    const auto length = static_cast<int64_t>(CodePoints(text).size());
    const auto set = [&](int64_t begin) {
      example->target = QaTarget::kSpan;
      example->target_begin = begin;
      example->target_end = begin + length;
    };
    if (!WithoutLeadingBlanks(text).empty()) {
      if (start >= 0 && start < code_points_->size() &&
          code_points_->Slice(start, start + length) == text) {
        return set(start);
      }
      const size_t found = context.find(text);
      if (found != context.npos && context.find(text, found + 1) == context.npos) {
        Count(QaIssue::kMovedAnswer, example->id);
        return set(code_points_->AtByte(found));
      }
    }
    Count(QaIssue::kLostAnswer, example->id);
  }

  std::string Id(const Json* value) {
    std::string id;
    if (value == nullptr) {
      id = std::to_string(dataset_.examples.size());
      Count(QaIssue::kMissingId, id);
    } else if (value->is_string()) {
      id = value->get<std::string>();
    } else if (value->is_number_integer()) {
      id = value->dump();
    } else {
      throw Wrong(
          fmt::format("\"id\" is neither text nor a whole number: {}", Excerpt(value->dump())));
    }
    const int64_t uses = ++ids_[id];
    if (uses == 1) return id;
    Count(QaIssue::kRepeatedId, id);
    if (options_.use == QaUse::kScore || options_.use == QaUse::kTrain) return id;
    // A file may hold "x", "x" and "x#2".
    std::string other = fmt::format("{}#{}", id, uses);
    while (ids_.contains(other)) other += "#";
    ids_[other] = 1;
    return other;
  }

  void Count(QaIssue issue, const std::string& id) {
    QaTally& tally = dataset_.issues[static_cast<size_t>(issue)];
    if (tally.first_ids.size() < kNamedIds) tally.first_ids.push_back(id);
    ++tally.count;
  }

  Error Wrong(const std::string& what) const {
    return Error(fmt::format("{}: {}", place_, what), kForms);
  }

  const QaReadOptions& options_;
  JsonRecords records_;
  QaDataset dataset_;
  std::string place_;
  std::vector<std::string> columns_;       // flat form: of question, context, answers
  std::optional<CodePoints> code_points_;  // of the last context
  std::unordered_map<std::string, int64_t> ids_;
};

constexpr unsigned Bit(QaUse use) { return 1u << static_cast<unsigned>(use); }

// What is said of an issue, for whom.
struct Message {
  QaIssue issue;
  unsigned uses;
  const char* text;
};
constexpr Message kMessages[] = {
    {QaIssue::kMovedAnswer, Bit(QaUse::kTrain),
     "the answer is not at its answer_start, but at one other place of the context, which is "
     "taken"},
    {QaIssue::kLostAnswer, Bit(QaUse::kTrain),
     "the answer is not at its answer_start and its place cannot be told; left out of training"},
    {QaIssue::kUnknownAnswer, Bit(QaUse::kTrain), "no answers are given; left out of training"},
    {QaIssue::kContradiction, Bit(QaUse::kTrain),
     "answers and is_impossible contradict each other; left out of training"},
    {QaIssue::kRepeatedId, Bit(QaUse::kEvaluate) | Bit(QaUse::kPredict),
     "the id was there before; the answer is filed under ID#2, ID#3 ..."},
    {QaIssue::kRepeatedId, Bit(QaUse::kScore),
     "the id was there before; both questions get the same prediction"},
    {QaIssue::kMissingId, Bit(QaUse::kEvaluate) | Bit(QaUse::kPredict) | Bit(QaUse::kScore),
     "no id; the question's number in the file, from 0, is taken"},
    {QaIssue::kEmptyContext, Bit(QaUse::kTrain) | Bit(QaUse::kEvaluate) | Bit(QaUse::kPredict),
     "the context is blank"},
};

}  // namespace

std::string FirstIds(const QaTally& tally) {
  std::string list;
  for (const std::string& id : tally.first_ids) {
    if (!list.empty()) list += ", ";
    list += Excerpt(id, 40);
  }
  if (tally.count > static_cast<int64_t>(tally.first_ids.size())) list += ", ...";
  return list;
}

QaDataset ReadSquad(const std::filesystem::path& path, const QaReadOptions& options, Log& log) {
  QaDataset dataset = Reader(path, options).Read();
  for (const Message& message : kMessages) {
    const QaTally& tally = dataset.issue(message.issue);
    if (tally.count == 0 || (message.uses & Bit(options.use)) == 0) continue;
    log.Warning(fmt::format("{}: {} of {} questions ({}): {}", path.string(), tally.count,
                            dataset.examples.size(), FirstIds(tally), message.text));
  }
  return dataset;
}

}  // namespace hagane::data
