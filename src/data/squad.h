// Questions, contexts and answers from files in SQuAD's forms (docs/data.md).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"

namespace hagane::data {

// What a question's answers teach in training.
enum class QaTarget : uint8_t {
  kSpan,      // the code points [target_begin, target_end) of the context
  kNoAnswer,  // that there is none: the [CLS] token
  kUnusable,  // nothing: not given, contradictory, or not in the context
};

struct QaExample {
  std::string id;
  std::string question;  // without blanks at its front
  int32_t context = 0;   // index in QaDataset::contexts
  // Texts of all gold answers, in file order. Empty: there is no answer, if the file says so, or
  // the file has none for this question (has_answers false).
  std::vector<std::string> answers;
  bool has_answers = false;
  QaTarget target = QaTarget::kUnusable;
  int64_t target_begin = 0, target_end = 0;
};

// What may be odd about a question; the run goes on, and the reader's log names the first few.
enum class QaIssue {
  kMovedAnswer,    // not at its answer_start, but at one other place: trained there
  kLostAnswer,     // not at its answer_start, and at no or several other places: not trained
  kUnknownAnswer,  // the file has no answers for it: neither trained nor scored
  kContradiction,  // answers and is_impossible exclude each other: not trained
  kRepeatedId,
  kMissingId,  // the question's number in the file is taken
  kEmptyContext,
};
inline constexpr size_t kQaIssues = 7;

struct QaTally {
  int64_t count = 0;
  std::vector<std::string> first_ids;
};

struct QaDataset {
  std::string name;  // "train", "validation" ... for messages
  std::filesystem::path origin;
  std::vector<std::string> contexts;  // valid UTF-8; neighbours that are equal are one
  std::vector<QaExample> examples;    // in file order; context indices never fall
  bool version_2 = false;             // its version is 2, or there are questions without an answer
  std::array<QaTally, kQaIssues> issues;

  const std::string& context(const QaExample& example) const {
    return contexts[static_cast<size_t>(example.context)];
  }
  const QaTally& issue(QaIssue kind) const { return issues[static_cast<size_t>(kind)]; }
};

// What the questions are for: decides which issues are worth a warning. A repeated id gets "#2",
// "#3" behind it in kEvaluate and kPredict, where answers are filed by id; it stays in kScore.
enum class QaUse { kTrain, kEvaluate, kPredict, kScore };

struct QaReadOptions {
  std::string name;
  QaUse use = QaUse::kTrain;
  std::optional<int64_t> max_examples;  // the first ones; what follows is not looked at
};

// The official nested JSON of 1.1 and 2.0, or flat records {id, context, question, answers: {text:
// [..], answer_start: [..]}} in `data`, in an array or one a line. Throws an Error naming file and
// place for what is no such file, and for a file without questions.
QaDataset ReadSquad(const std::filesystem::path& path, const QaReadOptions& options, Log& log);

// "a, b, c, ..." for messages.
std::string FirstIds(const QaTally& tally);

}  // namespace hagane::data
