// What this program is.
#pragma once

#include <string>

namespace hagane::cli {

std::string ProgramVersion();  // "0.1.0"
// Program, commit, instruction sets of this CPU, communication.
std::string VersionText();

}  // namespace hagane::cli
