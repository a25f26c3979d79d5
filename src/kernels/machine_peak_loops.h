// The loops behind machine_peak.h, one per level, on the calling thread.
#pragma once

#include <cstdint>

namespace hagane::kernels {

// Each loop runs `rounds` rounds of independent operations that depend on nothing but registers,
// and returns something computed so that no compiler drops it.
namespace avx2 {
inline constexpr double kFlopsPerRound = 12 * 8 * 2;  // 12 fused multiply-adds of 8 lanes
float FmaLoop(int64_t rounds);
}  // namespace avx2

namespace avx512 {
inline constexpr double kFlopsPerRound = 16 * 16 * 2;  // 16 fused multiply-adds of 16 lanes
float FmaLoop(int64_t rounds);
}  // namespace avx512

namespace amx {
inline constexpr double kBf16FlopsPerRound = 4 * 16 * 16 * 32 * 2;  // 4 tile products
inline constexpr double kInt8OpsPerRound = 4 * 16 * 16 * 64 * 2;
// Only where CpuFeatures says that the tile state is permitted.
float Bf16TileLoop(int64_t rounds);
float Int8TileLoop(int64_t rounds);
}  // namespace amx

}  // namespace hagane::kernels
