// The plug-in of oneCCL, for --ddp_backend ccl: its collectives carry the gradients, MPI everything
// else, signs of life first of all: oneCCL itself waits without end for a process that is gone.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdlib>
#include <memory>
#include <oneapi/ccl.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/mpi_wire.h"

namespace hagane::comm {

namespace {

// oneCCL loads an MPI library of its own choice; it must be the one that this process uses.
void ChooseMpiLibrary() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &info) != 0) {
    setenv("CCL_MPI_LIBRARY_PATH", info.dli_fname, 0);
  }
  setenv("CCL_ATL_TRANSPORT", "mpi", 0);
  // Without it every start warns of each variable that is set, and of a network library that is
  // not needed.
  setenv("CCL_LOG_LEVEL", "error", 0);
}

class CclWire final : public Wire {
 public:
  CclWire() : messages_(OpenMpiWire()) {
    ChooseMpiLibrary();
    ccl::init();
    ccl::kvs::address_type address{};
    ccl::shared_ptr_class<ccl::kvs> kvs;
    if (rank() == 0) {
      kvs = ccl::create_main_kvs();
      address = kvs->get_address();
    }
    MPI_Bcast(address.data(), static_cast<int>(address.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank() != 0) kvs = ccl::create_kvs(address);
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes_.push_back(ccl::create_communicator(size(), rank(), kvs));
    }
    rounds_.resize(kLanes);
  }

  int rank() const override { return messages_->rank(); }
  int size() const override { return messages_->size(); }

  std::string Description() const override {
    const ccl::library_version version = ccl::get_library_version();
    return "oneCCL " + std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
           std::to_string(version.update) + " over " + messages_->Description();
  }

  Request Send(int peer, int tag, std::span<const std::byte> bytes) override {
    return messages_->Send(peer, tag, bytes);
  }
  Request Receive(int peer, int tag, std::span<std::byte> bytes) override {
    return messages_->Receive(peer, tag, bytes);
  }

  bool Done(Request* request) override {
    if (*request < kFirstRound) return messages_->Done(request);
    ccl::event& round = rounds_[static_cast<size_t>(*request - kFirstRound)];
    if (!round.test()) return false;
    round = ccl::event();
    *request = kNone;
    return true;
  }

  void Cancel(Request* request) override {
    if (*request < kFirstRound) return messages_->Cancel(request);
    *request = kNone;  // a round cannot be taken back
  }

  bool carries_rounds() const override { return true; }

  Request Scatter(int lane, std::span<const std::byte> outgoing, std::span<const size_t> sizes,
                  std::span<std::byte> incoming) override {
    const std::vector<size_t> mine(sizes.size(), sizes[static_cast<size_t>(rank())]);
    return Begin(lane, ccl::alltoallv(outgoing.data(), {sizes.begin(), sizes.end()},
                                      incoming.data(), mine, ccl::datatype::uint8, Lane(lane)));
  }

  Request Gather(int lane, std::span<std::byte> all, std::span<const size_t> sizes) override {
    size_t begin = 0;
    for (int other = 0; other < rank(); ++other) begin += sizes[static_cast<size_t>(other)];
    return Begin(lane,
                 ccl::allgatherv(all.data() + begin, sizes[static_cast<size_t>(rank())], all.data(),
                                 {sizes.begin(), sizes.end()}, ccl::datatype::uint8, Lane(lane)));
  }

  void Finish() override {
    rounds_.clear();
    lanes_.clear();
    messages_->Finish();
  }

  [[noreturn]] void Abort(int exit_code) override {
    messages_->Abort(exit_code);
    std::abort();  // not reached, which the compiler does not see
  }

 private:
  // MPI's requests have lower numbers.
  static constexpr Request kFirstRound = 1 << 24;

  const ccl::communicator& Lane(int lane) const { return lanes_[static_cast<size_t>(lane)]; }

  Request Begin(int lane, ccl::event round) {
    rounds_[static_cast<size_t>(lane)] = std::move(round);
    return kFirstRound + lane;
  }

  std::unique_ptr<Wire> messages_;
  std::vector<ccl::communicator> lanes_;
  std::vector<ccl::event> rounds_;  // under way, by lane
};

}  // namespace

}  // namespace hagane::comm

extern "C" hagane::comm::Wire* hagane_open_wire() {
  try {
    return new hagane::comm::CclWire;
  } catch (const ccl::exception& error) {
    throw hagane::Error(std::string("oneCCL: ") + error.what(),
                        "with --ddp_backend mpi gradients go over MPI, with the same results");
  }
}
