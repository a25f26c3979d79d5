// What the engine moves on: an exchange of messages with the other ranks that takes several steps.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "comm/wire.h"

namespace hagane::comm {

class Operation {
 public:
  virtual ~Operation() = default;
  // On the engine's thread, again and again until it returns true. `tag` is this operation's alone
  // in its first round, `tag` + 1 in its second.
  virtual bool Advance(Wire* wire, int tag) = 0;
  // The ranks whose message is still missing.
  virtual std::vector<int> Missing() const = 0;
};

// The messages of one round.
class MessageSet {
 public:
  void Send(Wire* wire, int peer, int tag, std::span<const std::byte> bytes) {
    sends_.push_back({peer, wire->Send(peer, tag, bytes)});
  }
  void Receive(Wire* wire, int peer, int tag, std::span<std::byte> bytes) {
    receives_.push_back({peer, wire->Receive(peer, tag, bytes)});
  }
  // A message with all other ranks at once.
  void Add(const Wire* wire, Wire::Request request) {
    // Nobody knows whom it waits for: all are asked for signs of life.
    for (int peer = 0; peer < wire->size(); ++peer) {
      if (peer != wire->rank()) collective_peers_.push_back(peer);
    }
    collective_ = request;
  }
  // True once all are complete; the set is then empty.
  bool Done(Wire* wire) {
    bool done = wire->Done(&collective_);
    if (done) collective_peers_.clear();
    for (auto* messages : {&receives_, &sends_}) {
      for (Message& message : *messages) done = wire->Done(&message.request) && done;
    }
    if (done) {
      sends_.clear();
      receives_.clear();
    }
    return done;
  }
  // A peer that does not take what is sent to it is missing as well.
  std::vector<int> Missing() const {
    if (!collective_peers_.empty()) return collective_peers_;
    std::vector<int> peers;
    for (const auto* messages : {&receives_, &sends_}) {
      for (const Message& message : *messages) {
        if (message.request != Wire::kNone) peers.push_back(message.peer);
      }
      if (!peers.empty()) break;
    }
    return peers;
  }

 private:
  struct Message {
    int peer = 0;
    Wire::Request request = Wire::kNone;
  };
  std::vector<Message> sends_, receives_;
  Wire::Request collective_ = Wire::kNone;
  std::vector<int> collective_peers_;
};

}  // namespace hagane::comm
