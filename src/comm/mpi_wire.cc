#include "comm/mpi_wire.h"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <vector>

#include "base/error.h"

namespace hagane::comm {

namespace {

// Elements of a message are counted in int.
constexpr size_t kLargestMessage = size_t{1} << 30;

class MpiWire final : public Wire {
 public:
  MpiWire() {
    int initialized = 0;
    MPI_Initialized(&initialized);
    // Multiple: oneCCL calls MPI from threads of its own.
    int provided = 0;
    if (!initialized) MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    // Our own messages never mix with those of a library that uses MPI beside us.
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::string Description() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text, static_cast<size_t>(length));
    std::string line = all.substr(0, all.find('\n'));
    // MPICH writes "MPICH Version:\t4.0.2".
    for (size_t at; (at = line.find(" Version:")) != std::string::npos;) line.erase(at, 9);
    std::replace(line.begin(), line.end(), '\t', ' ');
    line = line.substr(0, line.find(','));
    while (!line.empty() && line.back() == '\0') line.pop_back();
    return line;
  }

  Request Send(int peer, int tag, std::span<const std::byte> bytes) override {
    const Request request = NewRequest(bytes.size());
    ForEachPart(bytes.size(), [&](size_t part, size_t begin, int count) {
      Check(MPI_Isend(bytes.data() + begin, count, MPI_BYTE, peer, tag, comm_, At(request, part)),
            "sending to", peer);
    });
    return request;
  }

  Request Receive(int peer, int tag, std::span<std::byte> bytes) override {
    const Request request = NewRequest(bytes.size());
    ForEachPart(bytes.size(), [&](size_t part, size_t begin, int count) {
      Check(MPI_Irecv(bytes.data() + begin, count, MPI_BYTE, peer, tag, comm_, At(request, part)),
            "receiving from", peer);
    });
    return request;
  }

  bool Done(Request* request) override {
    if (*request == kNone) return true;
    auto& parts = requests_[static_cast<size_t>(*request)];
    int done = 0;
    const int code =
        MPI_Testall(static_cast<int>(parts.size()), parts.data(), &done, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) throw Error("MPI: " + Text(code));
    if (!done) return false;
    Release(request);
    return true;
  }

  void Cancel(Request* request) override {
    if (*request == kNone) return;
    for (MPI_Request& part : requests_[static_cast<size_t>(*request)]) {
      if (part == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&part);
      MPI_Request_free(&part);
    }
    Release(request);
  }

  void Finish() override {
    MPI_Comm_free(&comm_);
    MPI_Finalize();
  }

  [[noreturn]] void Abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    _exit(exit_code);
  }

 private:
  template <class Body>
  static void ForEachPart(size_t bytes, Body body) {
    size_t part = 0, begin = 0;
    do {
      const size_t count = std::min(kLargestMessage, bytes - begin);
      body(part++, begin, static_cast<int>(count));
      begin += count;
    } while (begin < bytes);
  }

  Request NewRequest(size_t bytes) {
    if (free_.empty()) {
      free_.push_back(static_cast<Request>(requests_.size()));
      requests_.emplace_back();
    }
    const Request request = free_.back();
    free_.pop_back();
    const size_t parts = std::max<size_t>(1, (bytes + kLargestMessage - 1) / kLargestMessage);
    requests_[static_cast<size_t>(request)].assign(parts, MPI_REQUEST_NULL);
    return request;
  }

  MPI_Request* At(Request request, size_t part) {
    return &requests_[static_cast<size_t>(request)][part];
  }

  void Release(Request* request) {
    free_.push_back(*request);
    *request = kNone;
  }

  static std::string Text(int code) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    return std::string(text, static_cast<size_t>(length));
  }

  static void Check(int code, const char* doing, int peer) {
    if (code != MPI_SUCCESS) {
      throw Error(fmt::format("MPI: {} rank {}: {}", doing, peer, Text(code)));
    }
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<std::vector<MPI_Request>> requests_;
  std::vector<Request> free_;
};

}  // namespace

std::unique_ptr<Wire> OpenMpiWire() { return std::make_unique<MpiWire>(); }

}  // namespace hagane::comm
