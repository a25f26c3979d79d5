// The commands that fine-tune: what run_glue.py does.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace hagane::cli {

// Each returns the exit code and throws an Error for everything that stops the run.
int RunGlueCommand(const std::vector<std::string>& args, const Streams& streams);

}  // namespace hagane::cli
