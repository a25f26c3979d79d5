#include "comm/launcher.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/error.h"

namespace hagane::comm {

namespace {

using Environment = std::function<const char*(const char*)>;

constexpr int kAnswerMilliseconds = 5000;

// The number in a variable, or `missing`.
int Number(const Environment& environment, const char* name, int missing) {
  const char* const text = environment(name);
  if (text == nullptr) return missing;
  int number = missing;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  return error == std::errc() && *end == '\0' ? number : missing;
}

// Where plug-ins lie: beside the libraries of an installed folder or of a build.
std::filesystem::path PlugInFolder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib" /
         "hagane";
}

struct AbiFiles {
  const char* plug_in;
  std::vector<const char*> libraries;  // the first that can be loaded is taken
  const char* package;                 // of Debian
};

AbiFiles FilesOf(MpiAbi abi) {
  if (abi == MpiAbi::kOpenMpi) return {"libhagane_openmpi.so", {"libmpi.so.40"}, "libopenmpi3"};
  return {"libhagane_mpich.so", {"libmpi.so.12", "libmpich.so.12"}, "libmpich12"};
}

constexpr char kCclPlugIn[] = "libhagane_ccl.so";

// The connection to the launcher, or -1. Slurm's, which speaks another version of the protocol,
// does not set the second variable.
int HydraConnection() {
  const Environment environment = [](const char* name) { return std::getenv(name); };
  return environment("MPI_LOCALRANKID") == nullptr ? -1 : Number(environment, "PMI_FD", -1);
}

}  // namespace

bool HasCcl() { return std::filesystem::exists(PlugInFolder() / kCclPlugIn); }

Launch FindLaunch(const Environment& environment) {
  const int open_mpi = Number(environment, "OMPI_COMM_WORLD_SIZE", 0);
  if (open_mpi > 1) return {MpiAbi::kOpenMpi, open_mpi, "mpirun (Open MPI)"};
  const int pmi = Number(environment, "PMI_SIZE", 0);
  const int slurm =
      environment("SLURM_PROCID") != nullptr
          ? Number(environment, "SLURM_STEP_NUM_TASKS", Number(environment, "SLURM_NTASKS", 0))
          : 0;
  if (pmi > 1) {
    return {MpiAbi::kMpich, pmi, slurm > 1 ? "srun (PMI)" : "mpirun (MPICH or Intel MPI)"};
  }
  if (slurm > 1 && environment("PMIX_RANK") != nullptr) {
    return {MpiAbi::kOpenMpi, slurm, "srun (PMIx)"};
  }
  const int mvapich = Number(environment, "MV2_COMM_WORLD_SIZE", 0);
  if (mvapich > 1) return {MpiAbi::kMpich, mvapich, "mpirun (MVAPICH2)"};
  // Started under MPI as a single process.
  if (open_mpi == 1 || pmi == 1) return {};
  if (slurm > 1) {
    throw UsageError(
        fmt::format("srun started {} processes that cannot find each other: each would train alone",
                    slurm),
        "pass --mpi=pmi2 to srun (--mpi=pmix for Open MPI), or -n 1 for one process");
  }
  for (const char* name : {"WORLD_SIZE", "MPI_LOCALNRANKS", "LOCAL_WORLD_SIZE"}) {
    const int size = Number(environment, name, 0);
    if (size > 1) {
      throw UsageError(
          fmt::format("{}={} says that a launcher other than MPI's started {} processes: each "
                      "would train alone",
                      name, size, size),
          "start hagane with mpirun or srun instead of torchrun or accelerate, or unset the "
          "variable for one process");
    }
  }
  return {};
}

bool UnderHydra() { return HydraConnection() >= 0; }

// These are what MPI itself says, in the first version of the protocol.
void EndLaunch(int exit_code) {
  if (UnderHydra()) dprintf(HydraConnection(), "cmd=abort exitcode=%d\n", exit_code);
}

void LeaveLaunch() {
  if (!UnderHydra()) return;
  dprintf(HydraConnection(), "cmd=finalize\n");
  // Its answer is waited for: it takes a connection that closes before for a crash.
  pollfd answer = {HydraConnection(), POLLIN, 0};
  char ignored[256];
  if (poll(&answer, 1, kAnswerMilliseconds) > 0 && read(answer.fd, ignored, sizeof(ignored)) < 0) {
    return;  // it is gone
  }
}

std::function<std::unique_ptr<Wire>()> LoadWire(MpiAbi abi, Carrier carrier) {
  const AbiFiles files = FilesOf(abi);
  const char* const chosen = std::getenv("HAGANE_MPI_LIBRARY");
  std::vector<const char*> libraries = files.libraries;
  if (chosen != nullptr) libraries = {chosen};
  void* mpi = nullptr;
  // Global, because the plug-in leaves its MPI symbols to the library that the launcher belongs to.
  for (size_t i = 0; i < libraries.size() && mpi == nullptr; ++i) {
    mpi = dlopen(libraries[i], RTLD_NOW | RTLD_GLOBAL);
  }
  if (mpi == nullptr) {
    throw Error(
        fmt::format("this run has several processes, and its MPI library ({}) cannot be "
                    "loaded: {}",
                    fmt::join(libraries, " or "), dlerror()),
        fmt::format("install {}, or name the library in HAGANE_MPI_LIBRARY", files.package));
  }
  const bool over_ccl = carrier == Carrier::kCcl;
  const std::filesystem::path file = PlugInFolder() / (over_ccl ? kCclPlugIn : files.plug_in);
  void* const plug_in = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plug_in == nullptr) {
    if (over_ccl) {
      throw Error(
          fmt::format("the part of hagane for oneCCL cannot be loaded: {}", dlerror()),
          "leave out --ddp_backend ccl (--xpu_backend ccl): gradients then go over MPI, with "
          "the same results");
    }
    throw Error(fmt::format("the part of hagane for this MPI cannot be loaded: {}", dlerror()),
                "install hagane's whole folder on this host; a build makes this part where it "
                "finds the MPI's headers");
  }
  auto* const open = reinterpret_cast<OpenWireFunction*>(dlsym(plug_in, kOpenWireSymbol));
  if (open == nullptr) throw Error(fmt::format("{} is not of this version", file.string()));
  return [open] { return std::unique_ptr<Wire>(open()); };
}

}  // namespace hagane::comm
