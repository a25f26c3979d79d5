#include "cli/run_sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "io/hub_cache.h"

namespace hagane::cli {

namespace {

namespace fs = std::filesystem;

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// ['a', 'b'], as the reference prints lists of names.
std::string PythonList(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
  return "[" + list + "]";
}

}  // namespace

fs::path ResolveModelFolder(const ModelSource& source, const std::string& name_or_path) {
  std::optional<fs::path> cache_dir;
  if (!source.cache_dir.empty()) cache_dir = source.cache_dir;
  return io::ResolveModel(name_or_path, source.revision, cache_dir, io::ProcessEnvironment());
}

int ClampMaxLength(int asked, const text::Tokenizer& tokenizer, const nn::EncoderConfig& encoder,
                   Log& log) {
  int64_t longest = encoder.longest_sequence();
  if (const auto limit = tokenizer.model_max_length(); limit && *limit > 0) {
    longest = std::min(longest, *limit);
  }
  if (asked <= longest) return asked;
  log.Warning(
      fmt::format("The max_seq_length passed ({}) is larger than the maximum length for the "
                  "model ({}). Using max_seq_length={}.",
                  asked, longest, longest));
  return static_cast<int>(longest);
}

std::optional<fs::path> FeatureCacheFolder() {
  const std::string own = Environment("HAGANE_CACHE");
  if (own == "off") return std::nullopt;
  if (!own.empty()) return own;
  if (const std::string xdg = Environment("XDG_CACHE_HOME"); !xdg.empty()) {
    return fs::path(xdg) / "hagane";
  }
  if (const std::string home = Environment("HOME"); !home.empty()) {
    return fs::path(home) / ".cache" / "hagane";
  }
  return std::nullopt;
}

void CheckIds(const data::Features& features, const nn::EncoderConfig& encoder,
              const std::string& config_origin) {
  for (const int32_t id : features.ids) {
    if (id < 0 || id >= encoder.vocab_size) {
      throw Error(fmt::format("the tokenizer gives token id {}, but {} has vocab_size {}", id,
                              config_origin, encoder.vocab_size),
                  "the tokenizer belongs to another model: check --tokenizer_name");
    }
  }
  for (const uint8_t segment : features.segments) {
    if (segment >= std::max(1, encoder.type_vocab_size)) {
      throw Error(fmt::format("the tokenizer gives token type {}, but {} has type_vocab_size {}",
                              segment, config_origin, encoder.type_vocab_size),
                  "the tokenizer belongs to another model: check --tokenizer_name");
    }
  }
}

void SayWhatWasLoaded(const nn::LoadReport& report, const std::string& architecture,
                      const std::string& model_name, Log& log) {
  if (report.weights_file.empty()) {
    log.Info(fmt::format("all {} tensors of {} are newly initialized", report.initialized.size(),
                         architecture));
    return;
  }
  log.Info(fmt::format("{} tensors loaded from {}", report.loaded, report.weights_file));
  if (!report.unused.empty()) {
    log.Warning(
        fmt::format("Some weights of the model checkpoint at {} were not used when "
                    "initializing {}: {}",
                    model_name, architecture, PythonList(report.unused)));
  }
  if (!report.initialized.empty()) {
    log.Warning(
        fmt::format("Some weights of {} were not initialized from the model checkpoint at {} "
                    "and are newly initialized: {}",
                    architecture, model_name, PythonList(report.initialized)));
  }
  if (!report.mismatched.empty()) {
    log.Warning(
        fmt::format("Some weights of {} were not initialized from the model checkpoint at {} "
                    "and are newly initialized because the shapes did not match: {}",
                    architecture, model_name, fmt::join(report.mismatched, "; ")));
  }
}

}  // namespace hagane::cli
