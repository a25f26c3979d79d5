#include "cli/run_reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace hagane::cli {

namespace {

constexpr double kBarSeconds = 0.1;    // between redraws on a terminal
constexpr double kPlainSeconds = 5.0;  // between lines elsewhere

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string Rate(double value) {
  return value >= 10000 ? fmt::format("{:.1f}k", value / 1000)
                        : fmt::format("{:.{}f}", value, value < 10 ? 1 : 0);
}

}  // namespace

std::string LogLine(const train::LogEntry& entry) {
  NamedMetrics line;
  for (const auto& [key, value] : entry.values) {
    line.emplace_back(key, key == "loss" ? PythonRound(value, 4) : TypedMetric(key, value));
  }
  line.emplace_back("epoch", PythonRound(entry.epoch, 2));
  return PythonDict(line);
}

RunReporter::RunReporter(Console* console, Options options)
    : console_(console), options_(std::move(options)) {
  if (!options_.now) options_.now = SteadySeconds;
}

void RunReporter::OnTrainBegin(const train::TrainPlan& plan) {
  plan_ = plan;
  step_ = plan.first_step;
  training_ = true;
  console_->Info(
      fmt::format("***** Running training *****\n  Num examples = {}\n  Num Epochs = {}\n"
                  "  Instantaneous batch size per device = {}\n"
                  "  Total train batch size (w. parallel, distributed & accumulation) = {}\n"
                  "  Gradient Accumulation steps = {}\n  Total optimization steps = {}\n"
                  "  Number of trainable parameters = {}",
                  plan.examples, plan.num_epochs, plan.batch_size, plan.total_batch_size,
                  plan.accumulation, plan.max_steps, plan.parameters));
  if (plan.first_step > 0) {
    console_->Info(fmt::format(
        "  Continuing training from checkpoint, will skip to saved global_step\n"
        "  Continuing training from epoch {}\n  Continuing training from global step {}",
        static_cast<int64_t>(plan.resumed_epoch), plan.first_step));
  }
}

void RunReporter::OnStep(const train::StepReport& report) {
  step_ = report.step;
  rates_.Add(report);
  since_shown_ += report.seconds;
  const bool terminal = console_->streams().err_is_terminal;
  if (!options_.progress || since_shown_ < (terminal ? kBarSeconds : kPlainSeconds)) return;
  since_shown_ = 0;
  Show(static_cast<double>(step_) / static_cast<double>(std::max<int64_t>(1, plan_.max_steps)),
       fmt::format("step {}/{}  loss {:.4f}  {} examples/s  {} tokens/s  {} left", step_,
                   plan_.max_steps, rates_.loss(), Rate(rates_.examples_per_second()),
                   Rate(rates_.tokens_per_second()), FormatDuration(SecondsLeft(step_))));
}

void RunReporter::OnLog(const train::LogEntry& entry) { console_->Result(LogLine(entry)); }

void RunReporter::OnEvaluationBegin(const train::EvaluationReport& report) {
  what_ = report.what;
  evaluation_begin_ = evaluation_shown_ = options_.now();
  console_->Info(fmt::format("***** Running {} *****\n  Num examples = {}\n  Batch size = {}",
                             report.what, report.examples, report.batch_size));
}

void RunReporter::OnEvaluationProgress(int64_t done, int64_t examples) {
  const double now = options_.now();
  const bool terminal = console_->streams().err_is_terminal;
  if (!options_.progress || now - evaluation_shown_ < (terminal ? kBarSeconds : kPlainSeconds)) {
    return;
  }
  evaluation_shown_ = now;
  const double rate = static_cast<double>(done) / std::max(1e-9, now - evaluation_begin_);
  const double left = static_cast<double>(examples - done) / std::max(1e-9, rate);
  Show(static_cast<double>(done) / static_cast<double>(std::max<int64_t>(1, examples)),
       fmt::format("{} {}/{}  {} examples/s  {} left", what_, done, examples, Rate(rate),
                   FormatDuration(left + (training_ ? SecondsLeft(step_) : 0))));
}

void RunReporter::OnEvaluationEnd() {
  evaluation_seconds_ = options_.now() - evaluation_begin_;
  if (!training_) console_->ShowStatus("");
}

void RunReporter::OnMessage(const std::string& line) { console_->Info(line); }

void RunReporter::OnWarning(const std::string& line) { console_->Warning(line); }

void RunReporter::OnTrainEnd() {
  training_ = false;
  console_->ShowStatus("");
}

bool RunReporter::StopRequested() { return options_.stop_requested && options_.stop_requested(); }

int64_t RunReporter::EvaluationsLeft(int64_t step) const {
  const train::EvaluationOptions& evaluation = options_.evaluation;
  const int64_t max_steps = plan_.max_steps;
  switch (evaluation.strategy) {
    case train::Interval::kNo:
      return 0;
    case train::Interval::kEpoch: {
      const int64_t updates = std::max<int64_t>(1, plan_.updates_per_epoch);
      return max_steps / updates - step / updates;
    }
    case train::Interval::kSteps: {
      const double every = evaluation.steps < 1
                               ? std::ceil(evaluation.steps * static_cast<double>(max_steps))
                               : evaluation.steps;
      const int64_t steps = std::max<int64_t>(1, static_cast<int64_t>(every));
      return max_steps / steps - step / steps;
    }
  }
  return 0;
}

double RunReporter::SecondsLeft(int64_t step) const {
  double evaluation = evaluation_seconds_;
  if (evaluation < 0) {
    // Forward alone is a third of forward and backward.
    const double rate = rates_.examples_per_second();
    evaluation = rate > 0 ? static_cast<double>(options_.evaluation_rows) / (3 * rate) : 0;
  }
  return static_cast<double>(plan_.max_steps - step) * rates_.seconds_per_step() +
         static_cast<double>(EvaluationsLeft(step)) * evaluation;
}

void RunReporter::Show(double share, const std::string& text) {
  if (console_->streams().err_is_terminal) {
    console_->ShowStatus(DrawBar(share, text, console_->streams().width));
  } else {
    console_->Info(fmt::format("{:3.0f}% {}", 100 * share, text));
  }
}

}  // namespace hagane::cli
