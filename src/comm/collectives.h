// The operations that all ranks take part in, as the engine moves them on. All ranks must create
// them with the same sizes. Memory is the caller's and must live until the operation is complete.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/run_context.h"
#include "comm/operation.h"

namespace hagane::comm {

// `all`, of size x mine.size() bytes, receives each rank's bytes in rank order.
std::unique_ptr<Operation> AllGather(std::span<const std::byte> mine, std::span<std::byte> all);

// The same with a size of each rank's own; `sizes` has one for each rank.
std::unique_ptr<Operation> AllGather(std::span<const std::byte> mine, std::span<std::byte> all,
                                     std::span<const size_t> sizes);

// Rank r's bytes go to `root` alone, one after the other in rank order. `all` may be empty
// elsewhere.
std::unique_ptr<Operation> Gather(std::span<const std::byte> mine, std::span<std::byte> all,
                                  std::span<const size_t> sizes, int root);

// `root`'s bytes everywhere. Large ones go out in one part to each rank, which hand them on: the
// root sends them once, not once a rank.
std::unique_ptr<Operation> Broadcast(std::span<std::byte> bytes, int root);

// How gradients travel.
enum class WireType {
  kFloat32,
  kBf16,  // rounded before sending, summed in float32, and the sum rounded once
};

// Each element becomes the sum over ranks, added in rank order whatever arrives first, and has the
// same bits everywhere. Each rank sums one part and hands it on: 2 (N-1)/N x the bytes are sent and
// received, which no other way undercuts. `scratch`: AllReduceScratch bytes, aligned to 64.
// `ctx` is used with one thread, on the engine's. `lane`: see Wire; one operation at a time.
std::unique_ptr<Operation> AllReduce(const RunContext& ctx, std::span<float> values, WireType type,
                                     std::span<std::byte> scratch, int lane = 0);
size_t AllReduceScratch(int64_t values, WireType type, int ranks);

}  // namespace hagane::comm
