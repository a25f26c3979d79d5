#include "cli/process_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"
#include "cli/cli.h"
#include "comm/launcher.h"
#include "comm/peer_lost.h"

namespace hagane::cli {

namespace {

// mpirun drops what it has not yet handed on when a process ends the run.
constexpr auto kTimeForOutput = std::chrono::milliseconds(300);

// The logical CPUs this process may use, as text: "0-3,8".
std::string AffinityMask() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return "";
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpu);
    if (last > cpu) text += fmt::format("-{}", last);
    cpu = last;
  }
  return text;
}

std::set<int> CpusOf(const std::string& mask) {
  std::set<int> cpus;
  const char* at = mask.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    const long first = std::strtol(at, &end, 10);
    long last = first;
    if (*end == '-') last = std::strtol(end + 1, &end, 10);
    for (long cpu = first; cpu <= last; ++cpu) cpus.insert(static_cast<int>(cpu));
    at = *end == ',' ? end + 1 : end;
  }
  return cpus;
}

bool Overlap(const std::string& a, const std::string& b) {
  const std::set<int> first = CpusOf(a);
  for (const int cpu : CpusOf(b)) {
    if (first.contains(cpu)) return true;
  }
  return false;
}

std::vector<std::string> MasksOfAll(comm::Group* group) {
  return group->AllGather(AffinityMask(), "the cores of all ranks");
}

// Why gradients go over MPI although the user names another back end, or nothing.
std::string WhyOverMpi(const std::string& backend, comm::MpiAbi abi) {
  if (backend == "gloo") return "gloo is not needed";
  if (backend != "ccl") return "";
  if (abi != comm::MpiAbi::kMpich) return "oneCCL runs under MPICH and Intel MPI only";
  return comm::HasCcl() ? "" : "this hagane was built without oneCCL";
}

}  // namespace

std::unique_ptr<comm::Group> JoinGroup(const std::string& backend, double start_seconds,
                                       const Streams& streams, Log& log) {
  if (backend == "nccl" || backend == "xccl" || backend == "hccl") {
    throw UsageError(fmt::format("--ddp_backend {} is for accelerators", backend),
                     "use mpi or ccl, or leave it out");
  }
  const comm::Launch launch =
      comm::FindLaunch([](const char* name) -> const char* { return std::getenv(name); });
  if (launch.abi == comm::MpiAbi::kNone) return std::make_unique<comm::Group>();
  const std::string why_over_mpi = WhyOverMpi(backend, launch.abi);
  const bool over_ccl = backend == "ccl" && why_over_mpi.empty();
  comm::Deadlines deadlines;
  deadlines.start = start_seconds;
  std::unique_ptr<comm::Group> group;
  try {
    group = std::make_unique<comm::Group>(
        comm::LoadWire(launch.abi, over_ccl ? comm::Carrier::kCcl : comm::Carrier::kMpi),
        deadlines);
  } catch (const comm::PeerLost&) {
    const int code = ReportError(streams, "", std::current_exception());
    std::this_thread::sleep_for(kTimeForOutput);
    comm::EndLaunch(code);
    _exit(code);  // the thread that MPI holds never comes back
  }
  if (group->size() != launch.size) {
    throw Error(fmt::format("{} started {} processes, but {} finds {} of them: each would train "
                            "alone",
                            launch.launcher, launch.size, group->description(), group->size()),
                "start hagane with the mpirun that belongs to this MPI library, or name the "
                "launcher's library in HAGANE_MPI_LIBRARY");
  }
  if (group->leads() && !why_over_mpi.empty()) {
    log.Info(fmt::format("--ddp_backend {}: {}; gradients go over MPI, results are the same",
                         backend, why_over_mpi));
  }
  return group;
}

CoreShare ShareOfCores(comm::Group* group) {
  CoreShare share;
  if (group->alone()) return share;
  const std::vector<std::string> masks = MasksOfAll(group);
  share.of = 0;
  for (int rank = 0; rank < group->size(); ++rank) {
    const bool here = group->member(rank).node == group->me().node;
    if (!here || masks[static_cast<size_t>(rank)] != masks[static_cast<size_t>(group->rank())]) {
      continue;
    }
    if (rank < group->rank()) ++share.index;
    ++share.of;
  }
  return share;
}

void SayGroup(comm::Group* group, const RunContext& ctx, Log& log) {
  if (group->alone()) return;
  const std::vector<std::string> masks = MasksOfAll(group);
  const std::vector<std::string> threads =
      group->AllGather(std::to_string(ctx.threads), "the threads of all ranks");
  if (!group->leads()) return;

  const int nodes = group->nodes();
  log.Info(fmt::format("{} processes on {} host{} over {}, {} thread{} each", group->size(), nodes,
                       nodes == 1 ? "" : "s", group->description(), ctx.threads,
                       ctx.threads == 1 ? "" : "s"));
  // The work of a step is dealt in equal parts: the slowest rank sets the pace.
  for (int rank = 1; rank < group->size(); ++rank) {
    if (threads[static_cast<size_t>(rank)] == threads[0]) continue;
    log.Warning(
        fmt::format("{} computes with {} threads, rank 0 with {}: the others will wait for "
                    "the slower one",
                    group->NameOf(rank), threads[static_cast<size_t>(rank)], threads[0]));
    break;
  }
  // Per host: more threads than cores, or ranks bound to the same ones.
  for (int node = 0; node < nodes; ++node) {
    std::set<int> cpus;
    int wanted = 0;  // one core each, where cores have no second logical CPU
    std::vector<int> ranks;
    for (int rank = 0; rank < group->size(); ++rank) {
      if (group->member(rank).node != node) continue;
      ranks.push_back(rank);
      wanted += std::atoi(threads[static_cast<size_t>(rank)].c_str());
      cpus.merge(CpusOf(masks[static_cast<size_t>(rank)]));
    }
    if (cpus.empty() || wanted <= static_cast<int>(cpus.size())) continue;
    for (size_t i = 1; i < ranks.size(); ++i) {
      const auto& first = masks[static_cast<size_t>(ranks[0])];
      const auto& other = masks[static_cast<size_t>(ranks[i])];
      if (!Overlap(first, other)) continue;
      log.Warning(fmt::format(
          "on {} ranks {} share core{} {}: {} threads on {} of them, each slows the others; start "
          "fewer ranks per host, or let the launcher bind each to cores of its own (mpirun "
          "-bind-to)",
          group->member(ranks[0]).host, fmt::join(ranks, ", "), cpus.size() == 1 ? "" : "s", first,
          wanted, cpus.size()));
      break;
    }
  }
  const bool over_ccl = group->description().starts_with("oneCCL");
  std::vector<std::string> without_effect, for_ccl;
  for (const char* name :
       {"MASTER_ADDR", "MASTER_PORT", "KMP_BLOCKTIME", "KMP_HW_SUBSET", "KMP_SETTINGS"}) {
    if (std::getenv(name) != nullptr) without_effect.emplace_back(name);
  }
  for (const char* name :
       {"CCL_WORKER_COUNT", "CCL_WORKER_AFFINITY", "CCL_LOCAL_RANK", "CCL_LOCAL_SIZE"}) {
    if (std::getenv(name) != nullptr) (over_ccl ? for_ccl : without_effect).emplace_back(name);
  }
  if (!for_ccl.empty()) log.Info(fmt::format("oneCCL goes by {}", fmt::join(for_ccl, ", ")));
  if (!without_effect.empty()) {
    log.Info(
        fmt::format("not needed here, and without effect: {}", fmt::join(without_effect, ", ")));
  }
}

int InGroup(comm::Group* group, const Streams& streams, const std::function<int()>& body) {
  if (group->alone()) return body();
  try {
    const int code = body();
    // MPICH 4.0's MPI_Finalize between hosts: a rank waits for the answer of one that is already
    // past answering, for ever. Where the launcher can be told without it, it is left out.
    const bool finish = !comm::UnderHydra();
    if (group->End(finish) && finish) return code;
    streams.out.flush();
    comm::LeaveLaunch();
    _exit(code);
  } catch (...) {
    // What all ranks find wrong rank 0 says; its end then ends the others in their pause.
    if (!group->leads()) std::this_thread::sleep_for(std::chrono::seconds(1));
    const std::string prefix = group->NameOf(group->rank()) + ": ";
    const int code = ReportError(streams, group->leads() ? "" : prefix, std::current_exception());
    std::this_thread::sleep_for(kTimeForOutput);
    group->Abort(code);
  }
}

}  // namespace hagane::cli
