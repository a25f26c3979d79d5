// The program without its process: arguments in, streams, an exit code out. Nothing is thrown.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "cli/console.h"

namespace hagane::cli {

// Exit codes: 0 done, 1 failed, 2 wrong command line, 75 interrupted (the same command, run
// again, goes on).
int Main(const std::vector<std::string>& args, const Streams& streams);

// Says what was thrown on stderr, after `prefix`; returns the exit code for it.
int ReportError(const Streams& streams, const std::string& prefix, std::exception_ptr problem);

}  // namespace hagane::cli
