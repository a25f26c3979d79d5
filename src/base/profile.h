// Where the time of a step goes. A kernel opens a ProfileScope, nn/ says with a ProfilePart which
// part of the model it works for; without a Profile in the RunContext both do nothing.
#pragma once

#include <cstdint>
#include <ctime>
#include <string_view>
#include <vector>

#include "base/run_context.h"

namespace hagane {

// Seconds since some fixed point: by the wall, or of CPU time that this process got divided by
// `threads`, which other programs on the machine do not change.
class ProfileClock {
 public:
  ProfileClock() = default;
  static ProfileClock OfCpuTime(int threads) { return {CLOCK_PROCESS_CPUTIME_ID, 1.0 / threads}; }
  double Now() const {
    timespec now;
    clock_gettime(clock_, &now);
    return scale_ * (static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec));
  }

 private:
  ProfileClock(clockid_t clock, double scale) : clock_(clock), scale_(scale) {}

  clockid_t clock_ = CLOCK_MONOTONIC;
  double scale_ = 1;
};

class Profile {
 public:
  explicit Profile(const ProfileClock& clock = {}) : clock_(clock) {}

  double Now() const { return clock_.Now(); }
  struct Row {
    std::string_view part, kernel;
    int64_t calls = 0;
    double seconds = 0, flops = 0, bytes = 0;
  };

  // One call of `kernel` (a string literal) for the part at hand.
  void Add(std::string_view kernel, double seconds, double flops, double bytes) {
    Row& row = RowOf(kernel);
    ++row.calls;
    row.seconds += seconds;
    row.flops += flops;
    row.bytes += bytes;
  }
  const std::vector<Row>& rows() const { return rows_; }
  void Clear() { rows_.clear(); }

 private:
  friend class ProfilePart;

  Row& RowOf(std::string_view kernel) {
    for (Row& row : rows_) {
      if (row.part == part_ && row.kernel == kernel) return row;
    }
    return rows_.emplace_back(Row{.part = part_, .kernel = kernel});
  }

  ProfileClock clock_;
  std::string_view part_ = "other";
  std::vector<Row> rows_;  // a few dozen
};

// What the calling thread does until the end of the scope belongs to `part` (a string literal).
class ProfilePart {
 public:
  ProfilePart(const RunContext& ctx, std::string_view part) : profile_(ctx.profile) {
    if (profile_ == nullptr) return;
    outer_ = profile_->part_;
    profile_->part_ = part;
  }
  ~ProfilePart() {
    if (profile_ != nullptr) profile_->part_ = outer_;
  }
  ProfilePart(const ProfilePart&) = delete;
  ProfilePart& operator=(const ProfilePart&) = delete;

 private:
  Profile* profile_;
  std::string_view outer_;
};

// The time until the end of the scope is that of one call of `kernel`, which does `flops`
// floating-point operations and moves `bytes` (0: not worth naming).
class ProfileScope {
 public:
  ProfileScope(const RunContext& ctx, std::string_view kernel, double flops, double bytes)
      : profile_(ctx.profile), kernel_(kernel), flops_(flops), bytes_(bytes) {
    if (profile_ != nullptr) start_ = profile_->Now();
  }
  ~ProfileScope() {
    if (profile_ != nullptr) profile_->Add(kernel_, profile_->Now() - start_, flops_, bytes_);
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Profile* profile_;
  std::string_view kernel_;
  double flops_, bytes_;
  double start_ = 0;
};

}  // namespace hagane
