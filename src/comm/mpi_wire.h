// Messages over MPI. For plug-ins: compiled once for each MPI ABI that the build finds.
#pragma once

#include <memory>

#include "comm/wire.h"

namespace hagane::comm {

// MPI_Init, where nobody has called it; may wait for the other processes. Throws an Error.
std::unique_ptr<Wire> OpenMpiWire();

}  // namespace hagane::comm
