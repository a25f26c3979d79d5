#include "data/squad_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "data/python_text.h"
#include "text/utf8.h"

namespace hagane::data {
namespace {

using Tokens = std::vector<std::string_view>;

bool IsAsciiPunctuation(char c) {
  return c != '\0' && std::strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c) != nullptr;
}

// A run of word characters and the rest before it; articles are whole runs.
std::string WithoutArticles(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    bool is_word = false;
    while (i < text.size()) {
      const text::CodePoint c = text::DecodeUtf8(text, i);
      const bool word = IsPythonWord(c.value);
      if (i > begin && word != is_word) break;
      is_word = word;
      i += c.length;
    }
    const std::string_view run = text.substr(begin, i - begin);
    const bool is_article = is_word && (run == "a" || run == "an" || run == "the");
    out += is_article ? std::string_view(" ") : run;
  }
  return out;
}

Tokens Split(std::string_view text) {
  Tokens tokens;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const text::CodePoint c = text::DecodeUtf8(text, i);
    if (IsPythonSpace(c.value)) {
      if (i > begin) tokens.push_back(text.substr(begin, i - begin));
      begin = i + c.length;
    }
    i += c.length;
  }
  if (begin < text.size()) tokens.push_back(text.substr(begin));
  return tokens;
}

struct Score {
  double exact = 0, f1 = 0;
};

// Both texts are normalised. Without any token on either side F1 is that of the exact match in 2.0
// and 0 in 1.1.
Score Compare(const std::string& gold, const std::string& prediction, bool version_2) {
  Score score;
  score.exact = gold == prediction ? 1 : 0;
  Tokens a = Split(gold), b = Split(prediction);
  if (a.empty() || b.empty()) {
    score.f1 = version_2 && a.empty() && b.empty() ? 1 : 0;
    return score;
  }
  const auto a_size = static_cast<double>(a.size()), b_size = static_cast<double>(b.size());
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  Tokens common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  if (common.empty()) return score;
  const auto same = static_cast<double>(common.size());
  const double precision = 1.0 * same / b_size, recall = 1.0 * same / a_size;
  score.f1 = (2 * precision * recall) / (precision + recall);
  return score;
}

Score ScoreOf(const QaExample& example, const std::string& prediction, bool version_2) {
  const std::string normal = NormalizeAnswer(prediction);
  std::vector<std::string> golds;
  for (const std::string& answer : example.answers) {
    golds.push_back(NormalizeAnswer(answer));
    if (version_2 && golds.back().empty()) golds.pop_back();
  }
  if (golds.empty()) golds.emplace_back();
  Score best;
  for (const std::string& gold : golds) {
    const Score score = Compare(gold, normal, version_2);
    best.exact = std::max(best.exact, score.exact);
    best.f1 = std::max(best.f1, score.f1);
  }
  return best;
}

// What is scored, in file order.
struct Item {
  bool has_answer = false, is_predicted = false, is_blank = false;  // is_blank: "" was predicted
  double no_answer = 0;
  Score raw;
  Score at_threshold;
};

class Scorer {
 public:
  Scorer(const QaDataset& dataset, std::span<const std::string* const> predictions,
         const SquadScoring& scoring)
      : scoring_(scoring) {
    HAGANE_CHECK(predictions.size() == dataset.examples.size());
    item_of_.assign(dataset.examples.size(), SIZE_MAX);
    for (size_t i = 0; i < dataset.examples.size(); ++i) {
      const QaExample& example = dataset.examples[i];
      if (!CanBeScored(example, scoring.version_2)) {
        Tally(example.id, &unknown_);
        continue;
      }
      item_of_[i] = items_.size();
      Item item;
      item.has_answer = !example.answers.empty();
      item.is_predicted = predictions[i] != nullptr;
      item.is_blank = item.is_predicted && predictions[i]->empty();
      if (item.is_predicted) {
        item.raw = ScoreOf(example, *predictions[i], scoring.version_2);
      } else {
        Tally(example.id, &missing_);
      }
      items_.push_back(item);
    }
    for (const NoAnswerProbability& no_answer : scoring.no_answer) {
      if (Item* const item = ItemOf(no_answer.example)) item->no_answer = no_answer.probability;
    }
    for (Item& item : items_) {
      item.at_threshold = item.raw;
      if (item.is_predicted && item.no_answer > scoring.no_answer_threshold) {
        item.at_threshold.exact = item.at_threshold.f1 = item.has_answer ? 0 : 1;
      }
    }
  }

  std::vector<QaMetric> Metrics(const QaDataset& dataset, Log& log) {
    if (unknown_.count > 0) {
      log.Warning(fmt::format("{}: {} questions ({}) have no gold answer and are not scored",
                              dataset.origin.string(), unknown_.count, FirstIds(unknown_)));
    }
    if (items_.empty()) {
      throw Error(fmt::format("{}: no question has a gold answer", dataset.origin.string()),
                  "predict with a file that has none, evaluate with one that has");
    }
    if (missing_.count > 0) {
      log.Warning(fmt::format("{} of {} questions ({}) have no prediction and score 0",
                              missing_.count, items_.size(), FirstIds(missing_)));
    }
    const auto all = [](const Item&) { return true; };
    if (!scoring_.version_2) {
      AddGroup("", all);
      metrics_[0].name = "exact_match";
      metrics_.pop_back();
      return std::move(metrics_);
    }
    AddGroup("", all);
    AddGroup("HasAns_", [](const Item& item) { return item.has_answer; });
    AddGroup("NoAns_", [](const Item& item) { return !item.has_answer; });
    if (scoring_.search_threshold) {
      AddBest("best_exact", &Score::exact);
      AddBest("best_f1", &Score::f1);
    }
    return std::move(metrics_);
  }

 private:
  static void Tally(const std::string& id, QaTally* tally) {
    if (tally->count++ < 5) tally->first_ids.push_back(id);
  }

  Item* ItemOf(size_t example) {
    const size_t item = item_of_[example];
    return item == SIZE_MAX ? nullptr : &items_[item];
  }

  template <class Predicate>
  void AddGroup(const std::string& prefix, Predicate is_member) {
    Score sum;
    int64_t count = 0;
    for (const Item& item : items_) {
      if (!is_member(item)) continue;
      sum.exact += item.at_threshold.exact;
      sum.f1 += item.at_threshold.f1;
      ++count;
    }
    if (count == 0) return;
    const auto total = static_cast<double>(count);
    metrics_.push_back({prefix + "exact", 100.0 * sum.exact / total});
    metrics_.push_back({prefix + "f1", 100.0 * sum.f1 / total});
    metrics_.push_back({prefix + "total", total, true});
  }

  // The threshold below which answering is best: all questions start as "no answer" and are
  // answered one by one, the surest first.
  void AddBest(const std::string& name, double Score::*score) {
    std::vector<const Item*> order;
    if (scoring_.no_answer.empty()) {
      for (const Item& item : items_) order.push_back(&item);
    } else {
      for (const NoAnswerProbability& no_answer : scoring_.no_answer) {
        if (const Item* const item = ItemOf(no_answer.example)) order.push_back(item);
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Item* a, const Item* b) { return a->no_answer < b->no_answer; });
    double current = static_cast<double>(std::count_if(
        items_.begin(), items_.end(), [](const Item& item) { return !item.has_answer; }));
    double best = current, threshold = 0;
    for (const Item* const item : order) {
      current += item->has_answer ? item->raw.*score : (item->is_blank ? 0.0 : -1.0);
      if (current <= best) continue;
      best = current;
      threshold = item->no_answer;
    }
    metrics_.push_back({name, 100.0 * best / static_cast<double>(items_.size())});
    metrics_.push_back({name + "_thresh", threshold});
  }

  const SquadScoring& scoring_;
  std::vector<Item> items_;
  std::vector<size_t> item_of_;  // by example; SIZE_MAX: not scored
  QaTally unknown_, missing_;
  std::vector<QaMetric> metrics_;
};

}  // namespace

std::string NormalizeAnswer(std::string_view text) {
  std::string lower = PythonLower(text);
  lower.erase(std::remove_if(lower.begin(), lower.end(), IsAsciiPunctuation), lower.end());
  const std::string words = WithoutArticles(lower);
  std::string normal;
  for (const std::string_view token : Split(words)) {
    if (!normal.empty()) normal += ' ';
    normal += token;
  }
  return normal;
}

bool CanBeScored(const QaExample& example, bool version_2) {
  return example.has_answers && (version_2 || !example.answers.empty());
}

std::vector<QaMetric> SquadMetrics(const QaDataset& dataset,
                                   std::span<const std::string* const> predictions,
                                   const SquadScoring& scoring, Log& log) {
  return Scorer(dataset, predictions, scoring).Metrics(dataset, log);
}

std::vector<QaMetric> SquadMetrics(const QaDataset& dataset,
                                   const std::vector<std::string>& predictions, bool version_2,
                                   Log& log) {
  std::vector<const std::string*> pointers;
  for (const std::string& prediction : predictions) pointers.push_back(&prediction);
  SquadScoring scoring;
  scoring.version_2 = scoring.search_threshold = version_2;
  return SquadMetrics(dataset, pointers, scoring, log);
}

}  // namespace hagane::data
