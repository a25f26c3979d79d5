// Instruction-set levels that kernels are written for, chosen at run time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hagane {

// Ordered: a level implies all lower ones. kReference is plain loops compiled for baseline x86-64.
enum class Isa { kReference = 0, kAvx2 = 1, kAvx512 = 2 };

// "ref", "avx2" (AVX2 + FMA + F16C), "avx512" (F, BW, CD, DQ, VL).
std::string_view IsaName(Isa isa);
// Throws a usage Error that lists the names when `name` is none of them.
Isa ParseIsa(std::string_view name);

// What this CPU and kernel offer beyond the kernel levels, as printed in first lines and used by
// oneDNN by itself. AMX counts only when the kernel grants permission for the tile state
// (arch_prctl ARCH_REQ_XCOMP_PERM), which detection asks for.
struct CpuFeatures {
  std::string model_name;  // "Intel(R) Xeon(R) ...", from /proc/cpuinfo
  Isa best = Isa::kReference;
  bool avx512_bf16 = false;
  bool avx512_vnni = false;
  bool amx_bf16 = false;
  bool amx_int8 = false;
  bool avx512_fp16 = false;

  // "avx2", "avx512+vnni+bf16+amx" ...: one word for people.
  std::string Describe() const;
};

CpuFeatures DetectCpu();

// All levels this CPU can run, best first, kReference last.
std::vector<Isa> SupportedIsas(const CpuFeatures& cpu);

}  // namespace hagane
