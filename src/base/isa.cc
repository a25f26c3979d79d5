#include "base/isa.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "base/error.h"

namespace hagane {

namespace {

constexpr std::array<Isa, 3> kBestFirst = {Isa::kAvx512, Isa::kAvx2, Isa::kReference};

struct CpuidRegisters {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zeros where the CPU does not have the leaf.
CpuidRegisters Cpuid(unsigned leaf, unsigned subleaf) {
  CpuidRegisters r;
  if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
  return r;
}

bool Bit(unsigned word, int bit) { return (word >> bit & 1u) != 0; }

// The tile registers are 8 KiB of state a thread, which Linux (5.16 or newer) saves only for
// processes that asked. Threads started later inherit the permission.
bool RequestTileState() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXfeatureXtiledata = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
}

std::string ModelName() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return "unknown CPU";
}

}  // namespace

std::string_view IsaName(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return "ref";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "unknown";
}

Isa ParseIsa(std::string_view name) {
  for (const Isa isa : kBestFirst) {
    if (name == IsaName(isa)) return isa;
  }
  throw UsageError(fmt::format("unknown instruction set '{}'", name), "use avx512, avx2 or ref");
}

std::string CpuFeatures::Describe() const {
  std::string text(IsaName(best));
  if (avx512_vnni) text += "+vnni";
  if (avx512_bf16) text += "+bf16";
  if (avx512_fp16) text += "+fp16";
  if (amx_bf16 || amx_int8) text += "+amx";
  return text;
}

CpuFeatures DetectCpu() {
  CpuFeatures cpu;
  cpu.model_name = ModelName();

  // The builtin counts AVX and AVX-512 only where the operating system saves their registers too.
  // It does not know F16C and the newest extensions in every compiler: those are read from CPUID.
  const bool f16c = Bit(Cpuid(1, 0).ecx, 29);
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && f16c;
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  cpu.best = avx512 ? Isa::kAvx512 : avx2 ? Isa::kAvx2 : Isa::kReference;
  if (!avx512) return cpu;

  const CpuidRegisters leaf7 = Cpuid(7, 0);
  cpu.avx512_vnni = Bit(leaf7.ecx, 11);
  cpu.avx512_fp16 = Bit(leaf7.edx, 23);
  cpu.avx512_bf16 = Bit(Cpuid(7, 1).eax, 5);
  const bool amx_tile = Bit(leaf7.edx, 24);
  if (amx_tile && RequestTileState()) {
    cpu.amx_bf16 = Bit(leaf7.edx, 22);
    cpu.amx_int8 = Bit(leaf7.edx, 25);
  }
  return cpu;
}

std::vector<Isa> SupportedIsas(const CpuFeatures& cpu) {
  std::vector<Isa> isas;
  for (const Isa isa : kBestFirst) {
    if (isa <= cpu.best) isas.push_back(isa);
  }
  return isas;
}

}  // namespace hagane
