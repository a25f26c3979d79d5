// What started this process, by its environment, and the MPI that goes with it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/wire.h"

namespace hagane::comm {

// A plug-in: one for each way MPI libraries lay out their types.
enum class MpiAbi {
  kNone,     // one process
  kMpich,    // MPICH, Intel MPI, MVAPICH2
  kOpenMpi,  // Open MPI
};

struct Launch {
  MpiAbi abi = MpiAbi::kNone;
  int size = 1;          // processes that the launcher says it started
  std::string launcher;  // for people: "mpirun (MPICH or Intel MPI)"
};

// `environment` is getenv. Throws a usage Error for a launcher whose processes could not find each
// other (torchrun, accelerate, srun without MPI): each would train alone, into one folder.
Launch FindLaunch(const std::function<const char*(const char*)>& environment);

// Whether the launcher is MPICH's or Intel MPI's mpirun, to which this process can speak itself.
// What follows does nothing under others.
bool UnderHydra();
// Says that the run is over, for a process that MPI did not let join: the launcher would wait for
// processes on hosts that it no longer reaches.
void EndLaunch(int exit_code);
// Says that this process ends in order, in place of MPI_Finalize; the process should then end.
void LeaveLaunch();

// What carries the gradients; all else goes over MPI.
enum class Carrier { kMpi, kCcl };
// Whether this build or installation has the plug-in of oneCCL, which needs MPICH's ABI.
bool HasCcl();

// Loads the MPI library and the plug-in of `abi`, and returns what opens the wire. Throws an Error
// that says what is missing.
std::function<std::unique_ptr<Wire>()> LoadWire(MpiAbi abi, Carrier carrier);

}  // namespace hagane::comm
