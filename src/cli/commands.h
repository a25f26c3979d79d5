// The smaller subcommands. Each returns the exit code and throws an Error for everything that stops
// it.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace hagane::cli {

// `hagane verify --model DIR --reference FILE`: 0 within tolerance, 1 not.
int VerifyCommand(const std::vector<std::string>& args, const Streams& streams);
// `hagane bench peak`.
int BenchCommand(const std::vector<std::string>& args, const Streams& streams);
// `hagane tokenize --model DIR`.
int TokenizeCommand(const std::vector<std::string>& args, const Streams& streams);

}  // namespace hagane::cli
