// Joining the other processes of a run, if a launcher started several.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/run_context.h"
#include "cli/console.h"
#include "comm/group.h"

namespace hagane::cli {

// `backend`: the value of --ddp_backend, may be empty. Throws an Error when the launcher's
// processes cannot find each other. Where some do not come within `start_seconds`, says so and ends
// all.
std::unique_ptr<comm::Group> JoinGroup(const std::string& backend, double start_seconds,
                                       const Streams& streams, Log& log);

// Which of the cores of its affinity mask are this rank's, where launcher or user gave several
// ranks of a host the same ones.
CoreShare ShareOfCores(comm::Group* group);

// Warns of ranks that were bound to cores that others use too, and of launchers' variables that ask
// for more than there is; says the group and which variables of the guides mean something here.
void SayGroup(comm::Group* group, const RunContext& ctx, Log& log);

// Runs `body`, which returns the exit code. An error in it ends all processes of the group: there
// it is said once where all have the same, with the rank where only one has it.
int InGroup(comm::Group* group, const Streams& streams, const std::function<int()>& body);

}  // namespace hagane::cli
