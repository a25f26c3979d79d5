// The one object that says how to run: instruction set, threads, where to speak, when to stop. Made
// once by cli/ (or a test), passed by reference, never global.
#pragma once

#include <cstdint>
#include <functional>

#include "base/isa.h"
#include "base/log.h"

namespace hagane {

class Profile;

struct RunContext {
  CpuFeatures cpu;
  Isa isa = Isa::kReference;   // the kernel level in use, <= cpu.best
  int threads = 1;             // OpenMP threads of every parallel region; bits do not depend on it
  Log* log = nullptr;          // never null after MakeRunContext
  Profile* profile = nullptr;  // base/profile.h; null: nothing is timed
  // Looked at in every long loop, from any thread; empty: never.
  std::function<bool()> stop_requested;

  bool StopRequested() const { return stop_requested && stop_requested(); }
};

// Cores this process may use: physical cores of its affinity mask (hwloc), at least 1.
int AvailableCores();

// Several processes of a run may have the same affinity mask: then each takes the `index`-th of
// `of` equal parts of its cores.
struct CoreShare {
  int index = 0, of = 1;
};

// `isa_name` empty: best of the CPU (or HAGANE_ISA); otherwise that level, or a usage Error when
// the CPU lacks it. `threads` 0: OMP_NUM_THREADS when set, else all cores of the share; more than
// those is cut with a warning. Sets the OpenMP thread count and pins the worker threads to one core
// each, unless the user set OMP_PROC_BIND, OMP_PLACES, KMP_AFFINITY or GOMP_CPU_AFFINITY. The
// calling thread keeps its whole share, so that threads started later (reading ahead, tokenising)
// may run on every core of it.
RunContext MakeRunContext(const std::string& isa_name, int threads, Log& log,
                          const CoreShare& share = {});

}  // namespace hagane
