#include "base/run_context.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <omp.h>

#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace hagane {

namespace {

struct BitmapDeleter {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, BitmapDeleter>;

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, TopologyDeleter>;

Topology LoadTopology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  Topology owner(topology);
  // Only cores are asked for: finding caches and the like takes longer.
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  return hwloc_topology_load(topology) == 0 ? std::move(owner) : nullptr;
}

// For each physical core of the calling thread's affinity mask, those of its logical CPUs that are
// in the mask. Empty when the machine does not tell.
std::vector<Bitmap> CoresOfMask(hwloc_topology_t topology) {
  std::vector<Bitmap> cores;
  Bitmap mask(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology, mask.get(), HWLOC_CPUBIND_THREAD) != 0) return cores;
  // Some virtual machines name no cores; there each logical CPU counts as one.
  const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  for (hwloc_obj_t core = hwloc_get_next_obj_by_type(topology, type, nullptr); core != nullptr;
       core = hwloc_get_next_obj_by_type(topology, type, core)) {
    Bitmap cpus(hwloc_bitmap_alloc());
    hwloc_bitmap_and(cpus.get(), core->cpuset, mask.get());
    if (!hwloc_bitmap_iszero(cpus.get())) cores.push_back(std::move(cpus));
  }
  return cores;
}

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

Isa ChooseIsa(const std::string& isa_name, const CpuFeatures& cpu) {
  const bool from_flag = !isa_name.empty();
  const std::string name = from_flag ? isa_name : std::string(Environment("HAGANE_ISA"));
  if (name.empty()) return cpu.best;
  const Isa isa = ParseIsa(name);
  if (isa > cpu.best) {
    throw UsageError(fmt::format("this CPU ({}) cannot run instruction set '{}'{}", cpu.model_name,
                                 name, from_flag ? "" : " of HAGANE_ISA"),
                     fmt::format("leave it out, or use {}", IsaName(cpu.best)));
  }
  return isa;
}

// The first number of OMP_NUM_THREADS (a list is for nested regions); 0 when not set.
int ThreadsFromEnvironment(Log& log) {
  const std::string_view text = Environment("OMP_NUM_THREADS");
  if (text.empty()) return 0;
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  const bool whole = end == text.data() + text.size() || *end == ',';
  if (error == std::errc() && whole && threads > 0) return threads;
  log.Warning(fmt::format("OMP_NUM_THREADS='{}' is not a number of threads; it is ignored", text));
  return 0;
}

bool UserPinsThreads() {
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY", "GOMP_CPU_AFFINITY"}) {
    if (!Environment(name).empty()) return true;
  }
  return false;
}

// Binds the workers of the OpenMP team to one core each, the calling thread to none: it takes the
// core that is left, and threads that it starts later inherit the whole mask instead of one core.
// Failures are ignored, a run without pinning is correct too.
void PinWorkers(hwloc_topology_t topology, const std::vector<Bitmap>& cores, int threads) {
#pragma omp parallel num_threads(threads)
  {
    const auto worker = static_cast<size_t>(omp_get_thread_num());
    if (worker > 0 && worker < cores.size()) {
      (void)hwloc_set_cpubind(topology, cores[worker].get(), HWLOC_CPUBIND_THREAD);
    }
  }
}

// Processes beyond the number of cores share one.
std::vector<Bitmap> TakeShare(std::vector<Bitmap> cores, const CoreShare& share) {
  if (share.of <= 1 || cores.empty()) return cores;
  const auto count = cores.size();
  const auto of = static_cast<size_t>(share.of), index = static_cast<size_t>(share.index);
  size_t begin = count * index / of, end = count * (index + 1) / of;
  if (count < of) {
    begin = index % count;
    end = begin + 1;
  }
  std::vector<Bitmap> part;
  for (size_t i = begin; i < end; ++i) part.push_back(std::move(cores[i]));
  return part;
}

// The calling thread to all of `cores`.
void BindTo(hwloc_topology_t topology, const std::vector<Bitmap>& cores) {
  Bitmap all(hwloc_bitmap_alloc());
  for (const Bitmap& core : cores) hwloc_bitmap_or(all.get(), all.get(), core.get());
  (void)hwloc_set_cpubind(topology, all.get(), HWLOC_CPUBIND_THREAD);
}

}  // namespace

int AvailableCores() {
  const Topology topology = LoadTopology();
  if (topology == nullptr) return 1;
  const size_t cores = CoresOfMask(topology.get()).size();
  return cores == 0 ? 1 : static_cast<int>(cores);
}

RunContext MakeRunContext(const std::string& isa_name, int threads, Log& log,
                          const CoreShare& share) {
  RunContext context;
  context.log = &log;
  context.cpu = DetectCpu();
  context.isa = ChooseIsa(isa_name, context.cpu);

  const Topology topology = LoadTopology();
  const std::vector<Bitmap> core_sets =
      topology == nullptr ? std::vector<Bitmap>() : TakeShare(CoresOfMask(topology.get()), share);
  if (share.of > 1 && !core_sets.empty() && !UserPinsThreads()) {
    BindTo(topology.get(), core_sets);
  }
  const int cores = core_sets.empty() ? 1 : static_cast<int>(core_sets.size());

  if (threads < 0) throw UsageError(fmt::format("{} is not a number of threads", threads));
  if (threads == 0) threads = ThreadsFromEnvironment(log);
  if (threads == 0) threads = cores;
  if (threads > cores) {
    log.Warning(
        fmt::format("{} threads asked for, but this process may use {} physical core{}: "
                    "{} used",
                    threads, cores, cores == 1 ? "" : "s", cores));
    threads = cores;
  }
  context.threads = threads;

  omp_set_dynamic(0);  // a team always has the threads that were asked for
  omp_set_num_threads(threads);
  if (threads > 1 && !UserPinsThreads()) PinWorkers(topology.get(), core_sets, threads);
  return context;
}

}  // namespace hagane
