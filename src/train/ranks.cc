// What makes one training of several processes: the same start everywhere, shares of the rows.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "data/dealing.h"
#include "data/feature_cache.h"
#include "data/interrupted.h"
#include "io/json.h"
#include "io/run_origin.h"
#include "train/optimizer.h"
#include "train/progress.h"
#include "train/trainer.h"

namespace hagane::train {

namespace {

std::span<std::byte> BytesOf(std::span<float> values) { return std::as_writable_bytes(values); }

}  // namespace

void Trainer::CompareRanks() {
  if (group_->alone()) return;
  const nn::ParameterSet& parameters = model_->parameters();
  const std::string_view weights(reinterpret_cast<const char*>(parameters.values()),
                                 static_cast<size_t>(parameters.flat_size()) * sizeof(float));
  // In the order in which a person would look for the cause.
  const std::vector<std::pair<std::string, std::string>> mine = {
      {"the same program version", options_.origin.program_version},
      {"the same training data", data::FingerprintOf(*train_)},
      {"the same start weights", io::FingerprintOf(weights)},
      {"the same seed, batch and steps",
       fmt::format("{} {} {} {}", options_.seed, Plan().total_batch_size, Plan().max_steps,
                   static_cast<int>(options_.grad_wire))},
  };
  std::string card;
  for (const auto& [what, value] : mine) card += value + "\n";
  const std::vector<std::string> cards =
      group_->AllGather(card, "what all ranks are to train", comm::kWhileAlive);
  for (int rank = 1; rank < group_->size(); ++rank) {
    std::string_view first = cards[0], other = cards[static_cast<size_t>(rank)];
    for (const auto& [what, value] : mine) {
      const size_t end_first = first.find('\n'), end_other = other.find('\n');
      if (first.substr(0, end_first) != other.substr(0, end_other)) {
        throw Error(fmt::format("{} does not have {} as rank 0 on {}", group_->NameOf(rank), what,
                                group_->member(0).host),
                    "copy program, model folder and data files to every host, and start all "
                    "processes with one command line");
      }
      first.remove_prefix(end_first + 1);
      other.remove_prefix(end_other + 1);
    }
  }
}

void Trainer::ShareState(Progress* progress) {
  constexpr char kWhat[] = "rank 0 to read the checkpoint";
  const std::string text =
      group_->FromLeader(group_->leads() ? ToJson(state_).dump() : "", kWhat, comm::kWhileAlive);
  if (!group_->leads()) {
    state_ =
        ParseTrainerState(io::ParseJson(text, "rank 0's state", io::kIndexLimits), "rank 0").state;
  }
  std::vector<int64_t> numbers = {progress->plan.first_step, progress->first_epoch,
                                  progress->first_update, optimizer_->steps()};
  group_->BroadcastFromLeader(std::as_writable_bytes(std::span(numbers)), kWhat, comm::kWhileAlive);
  progress->plan.first_step = numbers[0];
  progress->first_epoch = numbers[1];
  progress->plan.resumed_epoch = static_cast<double>(numbers[1]);
  progress->first_update = numbers[2];
  optimizer_->set_steps(numbers[3]);
  ShareWeights();
  for (AlignedBuffer<float>* moments : {&optimizer_->exp_avg(), &optimizer_->exp_avg_sq()}) {
    group_->BroadcastFromLeader(BytesOf(moments->span()), kWhat, comm::kWhileAlive);
  }
}

void Trainer::ShareWeights() {
  if (group_->alone()) return;
  nn::ParameterSet& parameters = model_->parameters();
  group_->BroadcastFromLeader(
      BytesOf({parameters.values(), static_cast<size_t>(parameters.flat_size())}),
      "rank 0 to hand on the weights", comm::kWhileAlive);
  model_->ParametersChanged();
}

std::vector<int64_t> Trainer::OfAllRanks(const std::vector<int64_t>& mine,
                                         std::span<const int64_t> rows) const {
  if (group_->alone()) return mine;
  const std::string_view bytes(reinterpret_cast<const char*>(mine.data()),
                               mine.size() * sizeof(int64_t));
  std::vector<int64_t> named;
  for (const std::string& text :
       group_->AllGather(std::string(bytes), "the rows that are not finite", comm::kWhileAlive)) {
    const auto* const begin = reinterpret_cast<const int64_t*>(text.data());
    named.insert(named.end(), begin, begin + text.size() / sizeof(int64_t));
  }
  std::vector<int64_t> ordered;
  for (const int64_t row : rows) {
    if (std::find(named.begin(), named.end(), row) != named.end()) ordered.push_back(row);
  }
  return ordered;
}

Trainer::Samples Trainer::MyShare(std::span<const int64_t> rows, int64_t first) const {
  Samples share;
  const auto take = [&](int64_t i) {
    share.rows.push_back(rows[static_cast<size_t>(i)]);
    share.samples.push_back(static_cast<uint32_t>(first + i));
  };
  if (group_->alone()) {
    for (int64_t i = 0; i < std::ssize(rows); ++i) take(i);
  } else {
    const auto dealt = data::DealRows(*train_, rows, group_->size());
    for (const int64_t i : dealt[static_cast<size_t>(group_->rank())]) take(i);
  }
  return share;
}

bool Trainer::StopAgreedInRound(int64_t round) {
  if (group_->alone()) return observer_->StopRequested();
  constexpr int64_t kEvery = 8;  // a batch takes milliseconds, asking less than one
  if (round % kEvery == 0) {
    stop_agreed_ = group_->Any(observer_->StopRequested(), "the evaluation of a batch");
  }
  return stop_agreed_;
}

void Trainer::CollectEvaluation(int64_t rows,
                                const std::function<size_t(int64_t row)>& values_before,
                                std::vector<float> logits, std::vector<double> losses,
                                EvaluationResult* result) {
  constexpr char kWhat[] = "the logits of all ranks";
  const int64_t batch_size = options_.eval_batch_size;
  if (group_->alone()) {
    result->logits = std::move(logits);
    result->loss = std::accumulate(losses.begin(), losses.end(), 0.0);
    return;
  }
  const auto as_text = [](const auto& values) {
    return std::string(reinterpret_cast<const char*>(values.data()),
                       values.size() * sizeof(values[0]));
  };
  const std::vector<std::string> all_logits =
      group_->GatherAtLeader(as_text(logits), kWhat, comm::kWhileAlive);
  const std::vector<std::string> all_losses = group_->GatherAtLeader(as_text(losses), kWhat);
  if (group_->leads()) {
    result->logits.resize(values_before(rows));
    std::vector<size_t> used(static_cast<size_t>(group_->size()), 0);  // bytes of all_logits
    // The order of one process: the loss has its bits, too.
    int64_t index = 0;
    for (int64_t begin = 0; begin < rows; begin += batch_size, ++index) {
      const int64_t end = std::min(rows, begin + batch_size);
      const auto rank = static_cast<size_t>(index % group_->size());
      const size_t first = values_before(begin),
                   bytes = (values_before(end) - first) * sizeof(float);
      std::memcpy(result->logits.data() + first, all_logits[rank].data() + used[rank], bytes);
      used[rank] += bytes;
      double loss = 0;
      std::memcpy(
          &loss,
          all_losses[rank].data() + static_cast<size_t>(index / group_->size()) * sizeof(double),
          sizeof(double));
      result->loss += loss;
    }
  }
  group_->BroadcastFromLeader(std::as_writable_bytes(std::span(&result->loss, 1)), kWhat,
                              comm::kWhileAlive);
}

Metrics Trainer::LeadersMetrics(const data::Features& features, std::span<const float> logits) {
  if (group_->alone()) return metrics_.compute(features, logits);
  constexpr char kWhat[] = "rank 0 to score";
  Metrics metrics;
  bool stopped = false;
  try {
    if (group_->leads()) metrics = metrics_.compute(features, logits);
  } catch (const data::Interrupted&) {
    stopped = true;
  }
  if (group_->Any(stopped, kWhat, comm::kWhileAlive)) throw data::Interrupted();
  std::string names;
  std::vector<double> values;
  for (const auto& [name, value] : metrics) {
    names += name + "\n";
    values.push_back(value);
  }
  names = group_->FromLeader(names, kWhat, comm::kWhileAlive);
  values.resize(static_cast<size_t>(std::count(names.begin(), names.end(), '\n')));
  group_->BroadcastFromLeader(std::as_writable_bytes(std::span(values)), kWhat);
  metrics.clear();
  for (const double value : values) {
    const size_t end = names.find('\n');
    metrics.emplace_back(names.substr(0, end), value);
    names.erase(0, end + 1);
  }
  return metrics;
}

std::vector<int32_t> Trainer::TokensOf(std::span<const int64_t> rows) const {
  std::vector<int32_t> tokens;
  for (const int64_t row : rows) {
    const auto begin = train_->ids.begin() + train_->row_start[static_cast<size_t>(row)];
    tokens.insert(tokens.end(), begin, begin + train_->length(row));
  }
  return tokens;
}

comm::Patience Trainer::StepPatience() const {
  if (options_.patience) return *options_.patience;
  // Until the pace is known; and a step may be longer than the others.
  if (step_seconds_.size() < 3) return {};
  std::vector<double> seconds(step_seconds_.begin(), step_seconds_.end());
  std::nth_element(seconds.begin(), seconds.begin() + std::ssize(seconds) / 2, seconds.end());
  return {std::max(10.0, std::min(60.0, 5 * seconds[seconds.size() / 2]))};
}

}  // namespace hagane::train
