// From logits to answers: the best span of each question over all its windows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/run_context.h"
#include "data/qa_windows.h"
#include "data/squad.h"

namespace hagane::data {

struct QaAnswerOptions {
  bool version_2 = false;  // a question may have no answer
  int n_best_size = 20;
  int max_answer_length = 30;  // tokens
  float null_score_diff_threshold = 0;
};

struct QaCandidate {
  std::string text;
  float start_logit = 0, end_logit = 0;
  float probability = 0;  // among the candidates of its question
  // The word "empty", which the reference puts in front where there is no other text.
  bool filler = false;
};

// Each vector has one element per example of the dataset.
struct QaAnswers {
  std::vector<std::string> texts;                // "": no answer (version_2)
  std::vector<std::vector<QaCandidate>> n_best;  // best first
  std::vector<float> null_odds;  // version_2: score of no answer minus that of the best text
};

// `logits` is [tokens, 2] (start, end) over all windows, which must have offsets. Equal scores: the
// candidate of the earlier window, then of the better start, then of the better end; equal logits:
// the later token. NaN counts as the lowest.
QaAnswers FindQaAnswers(const RunContext& ctx, const QaDataset& dataset, const QaWindows& windows,
                        std::span<const float> logits, const QaAnswerOptions& options);

// The reference's files (indent 4, ASCII, final newline): {id: text}, {id: [candidate ..]}, {id:
// odds}.
std::string PredictionsJson(const QaDataset& dataset, const QaAnswers& answers);
std::string NBestJson(const QaDataset& dataset, const QaAnswers& answers);
std::string NullOddsJson(const QaDataset& dataset, const QaAnswers& answers);

}  // namespace hagane::data
