// argparse's rules over a table of flags. CLI11 is not used because it has neither argparse's
// unambiguous prefixes nor booleans that are bare or take a word: users' existing command lines
// rely on both.
//   --flag value, --flag=value, --fl value (unambiguous prefix), --flag-name for --flag_name
//   booleans bare, or with a word; --no_x for a boolean whose default is True
//   lists take the words up to the next flag; a flag given twice: the last wins
//   a first argument that ends in .json: a JSON object of arguments; flags after it win
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/flag.h"

namespace hagane::cli {

// monostate: not given and without a default.
using FlagValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<std::string>>;

// Values of all flags of a table. Asking for a name or type the table does not have is a bug
// (check).
class ParsedFlags {
 public:
  explicit ParsedFlags(std::vector<Flag> table);

  bool Bool(std::string_view name) const;
  std::optional<bool> OptionalBool(std::string_view name) const;
  int64_t Int(std::string_view name) const;
  std::optional<int64_t> OptionalInt(std::string_view name) const;
  double Float(std::string_view name) const;
  std::optional<double> OptionalFloat(std::string_view name) const;
  std::string String(std::string_view name) const;  // "" when absent
  std::optional<std::string> OptionalString(std::string_view name) const;

  // On the command line or in the JSON file, whatever the value.
  bool given(std::string_view name) const;
  // Its value is not the table's default.
  bool changed(std::string_view name) const;

  const std::vector<Flag>& table() const { return table_; }
  // All flags but secret ones, in the table's order, absent ones null: what --print_config prints,
  // and what may be given back as the JSON file of arguments.
  nlohmann::ordered_json ToJson() const;

 private:
  friend class FlagParser;
  size_t Index(std::string_view name) const;

  std::vector<Flag> table_;
  std::map<std::string, size_t, std::less<>> index_;  // canonical names
  std::vector<FlagValue> defaults_;
  std::vector<FlagValue> values_;
  std::vector<bool> given_;
};

// Throws a usage Error: unknown flag (with the nearest), ambiguous prefix, wrong value, missing
// value, left-over word. `command`, as in "hagane run_glue", is named in hints.
ParsedFlags ParseFlags(std::vector<Flag> table, const std::vector<std::string>& args,
                       const std::string& command);

}  // namespace hagane::cli
