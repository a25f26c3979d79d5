#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hagane::cli {

namespace {

constexpr size_t kWidth = 100;
constexpr size_t kHelpColumn = 34;

const char* TypeWord(const Flag& flag) {
  switch (flag.type) {
    case FlagType::kBool:
      return "";
    case FlagType::kOptionalBool:
      return " True|False";
    case FlagType::kInt:
      return " N";
    case FlagType::kFloat:
      return " X";
    case FlagType::kString:
      return " TEXT";
    case FlagType::kList:
      return " A B ...";
    case FlagType::kDict:
      return " JSON";
  }
  return "";
}

// `text` from column kHelpColumn on, broken between words at kWidth.
std::string Hanging(const std::string& head, const std::string& text) {
  std::string out = head;
  size_t column = head.size();
  if (column + 1 > kHelpColumn) {
    out += '\n';
    column = 0;
  }
  out.append(kHelpColumn - column, ' ');
  column = kHelpColumn;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    if (column > kHelpColumn && column + 1 + (end - begin) > kWidth) {
      out += '\n';
      out.append(kHelpColumn, ' ');
      column = kHelpColumn;
    } else if (column > kHelpColumn) {
      out += ' ';
      ++column;
    }
    out.append(text, begin, end - begin);
    column += end - begin;
    begin = end + 1;
  }
  return out + '\n';
}

std::string FlagHelp(const Flag& flag) {
  std::string text = flag.help;
  if (!flag.choices.empty()) text += fmt::format(": {}", fmt::join(flag.choices, " "));
  if (!flag.default_text.empty() && flag.default_text != "False") {
    text += fmt::format(" [{}]", flag.default_text);
  }
  for (const std::string& alias : flag.aliases) text += fmt::format(" (also --{})", alias);
  return Hanging(fmt::format("  --{}{}", flag.name, TypeWord(flag)), text);
}

std::string GroupHelp(const std::string& title, const std::vector<Flag>& table, FlagGroup group,
                      FlagUse use) {
  std::string text;
  for (const Flag& flag : table) {
    const bool used = flag.use == FlagUse::kUsed || flag.use == FlagUse::kNoOp;
    const bool wanted = use == FlagUse::kUsed ? used && flag.group == group : flag.use == use;
    if (wanted) text += FlagHelp(flag);
  }
  return text.empty() ? "" : fmt::format("\n{}\n{}", title, text);
}

}  // namespace

std::string GeneralHelp() {
  return R"(hagane fine-tunes Hugging Face encoder models on CPU.

usage: hagane COMMAND [flags]

  run_glue   fine-tune, evaluate and predict with a text classification or regression model
  run_qa     the same with a model that finds answers to questions in texts (SQuAD)
  score      exact match and F1 of answers to a SQuAD file, as the official scripts give them
  verify     compare loss, logits and gradients of a model with a reference file
  tokenize   texts in, token ids out, as JSON lines
  bench      measure what this machine can do (hagane bench peak)
  help       this text; hagane help COMMAND for a command's

hagane COMMAND --help shows the flags of a command, hagane --version what this program is.

environment
  HAGANE_ISA       instruction set, as --isa
  HAGANE_CACHE     folder of tokenised data, or off [$XDG_CACHE_HOME/hagane or ~/.cache/hagane]
  HF_HOME, HF_HUB_CACHE   where models of the hub are looked for
  OMP_NUM_THREADS  threads, as --threads
  NO_COLOR         no colours

exit codes: 0 done, 1 failed, 2 wrong command line, 75 interrupted (the same command, run
again, goes on).
)";
}

std::string CommandHelp(const std::string& usage, const std::string& what,
                        const std::vector<Flag>& table, bool all) {
  std::string text = fmt::format("usage: {}\n\n{}\n", usage, what);
  if (!all) {
    text += "\n";
    for (const Flag& flag : table) {
      if (flag.common) text += FlagHelp(flag);
    }
    return text;
  }
  text += GroupHelp("model", table, FlagGroup::kModel, FlagUse::kUsed);
  text += GroupHelp("data", table, FlagGroup::kData, FlagUse::kUsed);
  text += GroupHelp("training", table, FlagGroup::kTraining, FlagUse::kUsed);
  text += GroupHelp("evaluation and prediction", table, FlagGroup::kEvaluation, FlagUse::kUsed);
  text += GroupHelp("output and logging", table, FlagGroup::kOutput, FlagUse::kUsed);
  text += GroupHelp("hagane's own", table, FlagGroup::kHagane, FlagUse::kUsed);
  text += GroupHelp("accepted, change nothing (a warning says why)", table, FlagGroup::kAccepted,
                    FlagUse::kIgnored);
  text += GroupHelp("refused when set", table, FlagGroup::kAccepted, FlagUse::kRefused);
  return text;
}

std::string RunHelp(const std::string& command, const std::string& what, const std::string& example,
                    const std::vector<Flag>& table, bool all) {
  const std::string rules = R"(
Flags take --x value or --x=value, hyphens for underscores, and unambiguous prefixes; booleans are
bare or take a word; a file ARGS.json as the first argument holds arguments, flags after it win.
)";
  return CommandHelp(command + " [ARGS.json] [flags]", what, table, all) + "\nexample\n" + example +
         "\n" + (all ? rules : "\n--help_all shows every flag.\n");
}

}  // namespace hagane::cli
