// `hagane score`: the official SQuAD scores of a file of predictions.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace hagane::cli {

// Returns the exit code and throws an Error for everything that stops it.
int ScoreCommand(const std::vector<std::string>& args, const Streams& streams);

}  // namespace hagane::cli
