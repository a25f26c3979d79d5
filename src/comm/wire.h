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
