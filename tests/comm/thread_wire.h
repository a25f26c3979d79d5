// Wires between threads of one process, for tests: with faults, and without MPI.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "comm/group.h"
#include "comm/wire.h"

namespace hagane::comm {

class ThreadNetwork {
 public:
  explicit ThreadNetwork(int ranks) : ranks_(ranks), silent_(static_cast<size_t>(ranks)) {}

  int ranks() const { return ranks_; }
  // From now on nothing from this rank arrives anywhere, as when its host lost the network.
  void Silence(int rank) {
    const std::lock_guard lock(mutex_);
    silent_[static_cast<size_t>(rank)] = true;
  }
  // Messages sent and received so far, without heartbeats (tag 0).
  int64_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

  void Put(int from, int to, int tag, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    if (silent_[static_cast<size_t>(from)]) return;
    if (tag != 0) bytes_ += static_cast<int64_t>(bytes.size());
    boxes_[{from, to, tag}].emplace_back(bytes.begin(), bytes.end());
  }
  bool Take(int from, int to, int tag, std::span<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    auto& box = boxes_[{from, to, tag}];
    if (box.empty()) return false;
    if (box.front().size() != bytes.size()) throw std::runtime_error("sizes differ");
    std::copy(box.front().begin(), box.front().end(), bytes.begin());
    box.pop_front();
    return true;
  }

 private:
  const int ranks_;
  mutable std::mutex mutex_;
  std::vector<bool> silent_;
  int64_t bytes_ = 0;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> boxes_;
};

class ThreadWire : public Wire {
 public:
  ThreadWire(ThreadNetwork* network, int rank) : network_(network), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return network_->ranks(); }
  std::string Description() const override { return "threads"; }

  Request Send(int peer, int tag, std::span<const std::byte> bytes) override {
    network_->Put(rank_, peer, tag, bytes);
    return Add({peer, tag, {}, true});
  }
  Request Receive(int peer, int tag, std::span<std::byte> bytes) override {
    return Add({peer, tag, bytes, false});
  }
  bool Done(Request* request) override {
    if (*request == kNone) return true;
    Pending& pending = pending_.at(*request);
    if (!pending.done)
      pending.done = network_->Take(pending.peer, rank_, pending.tag, pending.bytes);
    if (!pending.done) return false;
    pending_.erase(*request);
    *request = kNone;
    return true;
  }
  void Cancel(Request* request) override {
    pending_.erase(*request);
    *request = kNone;
  }
  void Finish() override {}
  [[noreturn]] void Abort(int) override { std::abort(); }

 private:
  struct Pending {
    int peer, tag;
    std::span<std::byte> bytes;
    bool done;
  };
  Request Add(const Pending& pending) {
    pending_.emplace(next_, pending);
    return next_++;
  }

  ThreadNetwork* network_;
  const int rank_;
  Request next_ = 0;
  std::map<Request, Pending> pending_;
};

// Runs `body` as each rank of `network` on a thread of its own.
template <class Body>
void RunRanks(ThreadNetwork* network, Body body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < network->ranks(); ++rank) {
    threads.emplace_back([=] { body(rank); });
  }
  for (std::thread& thread : threads) thread.join();
}

// The same, with the rank's group.
template <class Body>
void RunGroups(ThreadNetwork* network, const Deadlines& deadlines, Body body) {
  RunRanks(network, [=](int rank) {
    Group group([=] { return std::make_unique<ThreadWire>(network, rank); }, deadlines);
    body(&group);
  });
}

}  // namespace hagane::comm
