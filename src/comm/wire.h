// Messages between the processes of a run: the boundary of the back ends. A back end is a plug-in
// (one for each MPI ABI), so that the program itself depends on none.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace hagane::comm {

// Every call is from one and the same thread, the one that opened the wire, and none blocks.
class Wire {
 public:
  // A message under way; the wire's own number.
  using Request = int;
  static constexpr Request kNone = -1;
  // Tags are 0 ... kTags - 1.
  static constexpr int kTags = 32768;

  // Without Finish: just lets go, and waits for nobody.
  virtual ~Wire() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // For people: "MPICH 4.0.2".
  virtual std::string Description() const = 0;

  // The memory must stay as it is until Done. Messages of one sender with one tag arrive in order;
  // a receive must have the size of its send; size 0 is a message too.
  virtual Request Send(int peer, int tag, std::span<const std::byte> bytes) = 0;
  virtual Request Receive(int peer, int tag, std::span<std::byte> bytes) = 0;
  // Moves everything under way on. True once `request` is complete, which is then kNone.
  virtual bool Done(Request* request) = 0;
  // Gives a receive up whose message will not come.
  virtual void Cancel(Request* request) = 0;

  // A wire over a library with collectives of its own (oneCCL) carries the rounds of an all-reduce
  // whole, instead of as messages between each two ranks. A lane carries one round at a time, and
  // all ranks give it the same ones in the same order; lanes do not wait for each other.
  static constexpr int kLanes = 8;
  virtual bool carries_rounds() const { return false; }
  // Part r of `outgoing`, of sizes[r] bytes, goes to rank r. `incoming` receives what is this
  // rank's of all ranks, its own too, one after the other.
  virtual Request Scatter(int /*lane*/, std::span<const std::byte> /*outgoing*/,
                          std::span<const size_t> /*sizes*/, std::span<std::byte> /*incoming*/) {
    return kNone;
  }
  // Part r of `all` is rank r's, and goes to every rank.
  virtual Request Gather(int /*lane*/, std::span<std::byte> /*all*/,
                         std::span<const size_t> /*sizes*/) {
    return kNone;
  }

  // The orderly end, after which nothing else is called. May wait for the other processes.
  virtual void Finish() = 0;
  // Ends every process of the run that can be reached, this one included.
  [[noreturn]] virtual void Abort(int exit_code) = 0;
};

// What a plug-in exports under the name kOpenWireSymbol: connects to the other processes of this
// launch (MPI_Init; may wait for them). The caller owns the wire. Throws an Error.
using OpenWireFunction = Wire*();
inline constexpr char kOpenWireSymbol[] = "hagane_open_wire";

}  // namespace hagane::comm
