// What collectives_test checks between threads, between real processes: one rank of it. Started by
// tests/cluster/back_ends under mpirun.
//
// Usage: back_end_check mpi|ccl     Exit code 1 and a sentence where something is wrong.
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "comm/collectives.h"
#include "comm/group.h"
#include "comm/launcher.h"

namespace hagane::comm {
namespace {

// Integers whose sums are exact in float32, and for bf16 small enough to be so there.
float Value(WireType type, int rank, int64_t i) {
  return type == WireType::kBf16 ? static_cast<float>((i * 7 + rank * 3) % 16)
                                 : static_cast<float>((i * 7919 + rank * 104729) % 1000003);
}

void Require(bool holds, const std::string& what) {
  if (!holds) throw Error(what);
}

void CheckSums(Group* group) {
  RunContext ctx;
  ctx.threads = 1;
  // All at once, each on a lane of its own, as the buckets of an update are.
  const std::vector<int64_t> sizes = {0, 1, 33, 4097, 100001, (int64_t{3} << 20) + 1};
  for (const WireType type : {WireType::kFloat32, WireType::kBf16}) {
    std::vector<std::vector<float>> values;
    std::vector<AlignedBuffer<std::byte>> scratch;
    std::vector<std::shared_ptr<Task>> tasks;
    for (const int64_t size : sizes) {
      std::vector<float>& mine = values.emplace_back(static_cast<size_t>(size));
      for (int64_t i = 0; i < size; ++i) {
        mine[static_cast<size_t>(i)] = Value(type, group->rank(), i);
      }
      scratch.emplace_back(AllReduceScratch(size, type, group->size()));
    }
    for (size_t at = 0; at < sizes.size(); ++at) {
      tasks.push_back(group->engine()->Start(
          AllReduce(ctx, values[at], type, scratch[at].span(), static_cast<int>(at)), "sums", 60));
    }
    for (size_t at = 0; at < sizes.size(); ++at) {
      group->engine()->Wait(tasks[at]);
      for (int64_t i = 0; i < sizes[at]; ++i) {
        float sum = 0;
        for (int rank = 0; rank < group->size(); ++rank) sum += Value(type, rank, i);
        const float found = values[at][static_cast<size_t>(i)];
        Require(found == sum, fmt::format("the sum of value {} of {} is {} instead of {}", i,
                                          sizes[at], found, sum));
      }
    }
  }
}

void CheckTexts(Group* group) {
  const auto text_of = [](int rank) {
    return std::string(static_cast<size_t>(rank) * 50021, static_cast<char>('a' + rank));
  };
  const auto check = [&](const std::vector<std::string>& all) {
    for (int rank = 0; rank < group->size(); ++rank) {
      Require(all[static_cast<size_t>(rank)] == text_of(rank),
              fmt::format("the text of rank {} arrived as another", rank));
    }
  };
  check(group->AllGather(text_of(group->rank()), "texts"));
  const auto gathered = group->GatherAtLeader(text_of(group->rank()), "texts");
  if (group->leads()) check(gathered);
  Require(group->FromLeader(group->leads() ? text_of(3) : "", "a text") == text_of(3),
          "the leader's text arrived as another");
}

int Run(const std::string& back_end) {
  const Launch launch =
      FindLaunch([](const char* name) -> const char* { return std::getenv(name); });
  Require(launch.abi != MpiAbi::kNone, "not started by mpirun with two processes or more");
  Group group(LoadWire(launch.abi, back_end == "ccl" ? Carrier::kCcl : Carrier::kMpi), Deadlines());
  try {
    CheckTexts(&group);
    CheckSums(&group);
  } catch (const std::exception& error) {
    fmt::print(stderr, "back_end_check: {}: {}\n", group.NameOf(group.rank()), error.what());
    group.Abort(1);
  }
  if (group.leads()) fmt::print("{} ranks over {}\n", group.size(), group.description());
  return 0;
}

}  // namespace
}  // namespace hagane::comm

int main(int argc, char** argv) {
  try {
    return hagane::comm::Run(argc > 1 ? argv[1] : "mpi");
  } catch (const std::exception& error) {
    fmt::print(stderr, "back_end_check: {}\n", error.what());
    return 1;
  }
}
