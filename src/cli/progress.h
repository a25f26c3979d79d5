// The line that tells how far a run is: a bar on a terminal, a plain line every few seconds
// elsewhere.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "cli/console.h"
#include "train/observer.h"

namespace hagane::cli {

// " 45% [#########>          ] text" in at most `width` columns; the bar gives way to the text.
std::string DrawBar(double share, const std::string& text, int width);

// Rates over the last seconds of updates, from their reports alone.
class RateWindow {
 public:
  void Add(const train::StepReport& report);
  double examples_per_second() const;
  double tokens_per_second() const;
  double seconds_per_step() const;
  double loss() const;  // mean over the window's updates

 private:
  struct Sum {
    double examples = 0, tokens = 0, seconds = 0, loss = 0;
  };
  std::deque<train::StepReport> recent_;
  Sum sum_;
};

}  // namespace hagane::cli
