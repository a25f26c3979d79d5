// The commands that fine-tune: what run_glue.py and run_qa.py do.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace hagane::cli {

// Each returns the exit code and throws an Error for everything that stops the run.
int RunGlueCommand(const std::vector<std::string>& args, const Streams& streams);
int RunQaCommand(const std::vector<std::string>& args, const Streams& streams);

}  // namespace hagane::cli
