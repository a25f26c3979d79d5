#include "text/vocabulary_files.h"

#include <fmt/core.h>

#include "base/error.h"
#include "io/atomic_write.h"
#include "io/json.h"
#include "io/printable.h"
#include "text/json_fields.h"
#include "text/utf8.h"

namespace hagane::text {
namespace {

constexpr char kOtherCopy[] = "the file is damaged; copy it again from the model's own folder";

// Calls visit(line, number) for each line without its end; the last one needs none.
template <class Visit>
void ForEachLine(const std::filesystem::path& path, const Visit& visit) {
  const std::string content = io::ReadFile(path, io::kTokenizerLimits.max_bytes);
  std::string_view rest = content;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!IsValidUtf8(line)) {
      throw Error(fmt::format("{}:{}: the line is not UTF-8", path.string(), number), kOtherCopy);
    }
    visit(line, number);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace

void ReadVocabTxt(const std::filesystem::path& path, Log& log, TokenizerSpec& spec) {
  spec.vocabulary_file = path;
  int64_t repeated = 0;
  std::string first_repeated;
  ForEachLine(path, [&](std::string_view line, int64_t number) {
    if (number - 1 > kMaxTokenId) {
      throw Error(fmt::format("{}:{}: the vocabulary has too many lines", path.string(), number),
                  kOtherCopy);
    }
    if (!spec.vocabulary.Add(std::string(line), static_cast<int32_t>(number - 1)) &&
        ++repeated == 1) {
      first_repeated = fmt::format("'{}' in line {}", io::Printable(line), number);
    }
  });
  if (spec.vocabulary.size() == 0)
    throw Error(fmt::format("{}: the vocabulary is empty", path.string()), kOtherCopy);
  if (repeated > 0) {
    log.Warning(fmt::format(
        "{}: {} of its tokens occur again ({}); the later line is the id, as in the reference",
        path.string(), repeated, first_repeated));
  }
}

void ReadVocabJson(const std::filesystem::path& path, TokenizerSpec& spec) {
  spec.vocabulary_file = path;
  const Json tokens = io::ReadJsonFile(path, io::kTokenizerLimits);
  if (!tokens.is_object() || tokens.empty()) {
    throw Error(
        fmt::format("{}: the vocabulary is empty or not an object of token: id", path.string()),
        kOtherCopy);
  }
  for (const auto& [token, id] : tokens.items()) {
    spec.vocabulary.Add(token,
                        static_cast<int32_t>(IndexValue(id, kMaxTokenId, token, path.string())));
  }
}

void ReadMergesTxt(const std::filesystem::path& path, TokenizerSpec& spec) {
  ForEachLine(path, [&](std::string_view line, int64_t number) {
    if (line.empty() || line.starts_with("#version")) return;
    const std::string place = fmt::format("{}:{}", path.string(), number);
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.find(' ', blank + 1) != std::string_view::npos) {
      throw Error(fmt::format("{}: a merge must be two tokens with a blank between", place),
                  kOtherCopy);
    }
    AddMerge(line.substr(0, blank), line.substr(blank + 1), place, spec);
  });
}

}  // namespace hagane::text
