#include "cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace hagane::cli {

Streams StandardStreams() {
  const char* const term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  const char* const no_colour = std::getenv("NO_COLOR");
  Streams streams{std::cin, std::cout, std::cerr};
  streams.err_is_terminal = !dumb && isatty(STDERR_FILENO) == 1;
  streams.colour =
      streams.err_is_terminal && (no_colour == nullptr || std::string_view(no_colour).empty());
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) streams.width = size.ws_col;
  return streams;
}

void Console::Write(std::ostream& stream, const std::string& text) {
  if (muted_) return;
  const std::scoped_lock lock(mutex_);
  if (!status_.empty()) streams_.err << "\r\x1b[K" << std::flush;
  stream << text;
  if (!text.ends_with('\n')) stream << '\n';
  stream << std::flush;
  if (!status_.empty()) streams_.err << status_ << std::flush;
}

void Console::Info(const std::string& line) {
  if (level_ == Level::kAll) Write(streams_.err, line);
}

void Console::Warning(const std::string& line) {
  if (level_ == Level::kErrors) return;
  const std::string_view label = streams_.colour ? "\x1b[33mwarning:\x1b[0m" : "warning:";
  Write(streams_.err, fmt::format("{} {}", label, line));
}

void Console::Result(const std::string& text) {
  Write(json_only_ ? streams_.err : streams_.out, text);
}

void Console::Json(const std::string& text) { Write(streams_.out, text); }

void Console::ShowStatus(const std::string& text) {
  if (!streams_.err_is_terminal || muted_) return;
  const std::scoped_lock lock(mutex_);
  if (text.empty() && status_.empty()) return;
  streams_.err << "\r\x1b[K" << text << std::flush;
  status_ = text;
}

std::string FormatDuration(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02} h", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string WithCommas(long long number) {
  std::string digits = std::to_string(number);
  const size_t first = digits[0] == '-' ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) digits.insert(i -= 3, ",");
  return digits;
}

std::string FormatBytes(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.1f} GB", bytes / 1e9);
  return fmt::format("{:.0f} MB", std::ceil(bytes / 1e6));
}

}  // namespace hagane::cli
