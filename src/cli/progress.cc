#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace hagane::cli {

namespace {

constexpr double kWindowSeconds = 10.0;

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

}  // namespace

std::string DrawBar(double share, const std::string& text, int width) {
  const std::string percent = fmt::format("{:3.0f}% ", 100.0 * std::clamp(share, 0.0, 1.0));
  // One column stays free: a full last column makes some terminals wrap.
  const int room = width - 1 - static_cast<int>(percent.size() + text.size()) - 3;
  std::string line = percent;
  if (room >= 8) {
    const int length = std::min(room, 30);
    const int filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * length);
    line += fmt::format("[{:<{}}] ", std::string(static_cast<size_t>(filled), '#'), length);
  }
  line += text;
  if (static_cast<int>(line.size()) >= width)
    line.resize(static_cast<size_t>(std::max(0, width - 1)));
  return line;
}

void RateWindow::Add(const train::StepReport& report) {
  const auto account = [&](const train::StepReport& step, double sign) {
    sum_.examples += sign * static_cast<double>(step.examples);
    sum_.tokens += sign * static_cast<double>(step.tokens);
    sum_.seconds += sign * step.seconds;
  };
  recent_.push_back(report);
  account(report, 1);
  while (recent_.size() > 5 && sum_.seconds - recent_.front().seconds > kWindowSeconds) {
    account(recent_.front(), -1);
    recent_.pop_front();
  }
  // Summed anew: a NaN that left the window must not stay in the sum.
  sum_.loss = 0;
  for (const train::StepReport& step : recent_) sum_.loss += step.loss;
}

double RateWindow::examples_per_second() const { return Ratio(sum_.examples, sum_.seconds); }
double RateWindow::tokens_per_second() const { return Ratio(sum_.tokens, sum_.seconds); }
double RateWindow::seconds_per_step() const {
  return Ratio(sum_.seconds, static_cast<double>(recent_.size()));
}
double RateWindow::loss() const { return Ratio(sum_.loss, static_cast<double>(recent_.size())); }

}  // namespace hagane::cli
