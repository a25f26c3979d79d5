// Help texts made from the tables of flags.
#pragma once

#include <string>
#include <vector>

#include "cli/flag.h"

namespace hagane::cli {

// `hagane`, its commands and where to go on.
std::string GeneralHelp();
// The flags that matter, with defaults and an example; with `all` every flag by group.
std::string CommandHelp(const std::string& usage, const std::string& what,
                        const std::vector<Flag>& table, bool all);
// The words of --help and --help_all of a command that fine-tunes, "hagane run_glue"; `example`:
// one command line.
std::string RunHelp(const std::string& command, const std::string& what, const std::string& example,
                    const std::vector<Flag>& table, bool all);

}  // namespace hagane::cli
