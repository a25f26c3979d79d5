// One command-line flag, as a row of a table. The tables (flags_*.cc) are the whole truth about
// names, types and defaults: parsing, help, --print_config and the nearest-name hint all read them.
#pragma once

#include <string>
#include <vector>

namespace hagane::cli {

enum class FlagType {
  kBool,          // bare, or with a word: yes/no, true/false, t/f, y/n, 1/0
  kOptionalBool,  // the word is required
  kInt,
  kFloat,
  kString,
  kList,  // one or more words
  kDict,  // JSON object
};

enum class FlagUse {
  kUsed,
  kNoOp,     // accepted and noted: what it asks for is always so
  kIgnored,  // accepted; a warning says that it changes nothing
  kRefused,  // an error when set to anything but its default
};

enum class FlagGroup { kModel, kData, kTraining, kEvaluation, kOutput, kHagane, kAccepted };

struct Flag {
  std::string name;  // with underscores; hyphens are accepted too
  FlagType type = FlagType::kString;
  std::string default_text = {};  // as it would be typed; empty: none
  FlagGroup group = FlagGroup::kAccepted;
  std::string help = {};  // kIgnored and kRefused: why
  FlagUse use = FlagUse::kUsed;
  std::vector<std::string> aliases = {};
  std::vector<std::string> choices = {};
  bool common = false;  // shown in the short help
  bool secret = false;  // never printed or saved
};

// All flags of `hagane run_glue` and of `hagane run_qa`.
std::vector<Flag> RunGlueFlags();
std::vector<Flag> RunQaFlags();

// Parts that they share.
std::vector<Flag> ModelFlags();
std::vector<Flag> DataFlags();
std::vector<Flag> TrainingFlags();
std::vector<Flag> AcceptedFlags();
std::vector<Flag> HaganeFlags();

Flag Common(Flag flag);
std::vector<Flag> Join(const std::vector<std::vector<Flag>>& parts);

}  // namespace hagane::cli
