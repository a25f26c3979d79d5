// The thread that talks to the other processes: it alone uses the wire, moves operations on while
// the others compute, and tells the peers that this process is alive.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/operation.h"
#include "comm/wire.h"

namespace hagane::comm {

// How long is waited for what; design: every wait has an end.
struct Deadlines {
  double start = 60;     // seconds until all processes have joined
  double silence = 12;   // a peer that gives no sign of life for so long is lost
  double heartbeat = 2;  // seconds between signs of life
  double end = 5;        // seconds for the wire's orderly end
};

// A rank did not answer in time, or the wire broke. Its sentence names rank, host and operation.
// Nothing can be sent any more: the process should end (Engine::Abort).
class PeerLost;

// One operation under way. Times are set by the time it is done.
struct Task {
  std::unique_ptr<Operation> operation;
  std::string what;
  double seconds = 0;
  int tag = 0;
  std::chrono::steady_clock::time_point start, end;
  std::atomic<bool> done{false};
};

class Engine {
 public:
  // Opens the wire on the new thread and waits until all processes have joined. Throws an Error.
  Engine(std::function<std::unique_ptr<Wire>()> open, const Deadlines& deadlines);
  // Ends in order with the other ranks, unless something failed: then just lets go.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::string& description() const { return description_; }

  // How people know each rank; until then "rank 3".
  void SetNames(std::vector<std::string> names);

  // Starts an operation; every rank must start the same ones in the same order. `what` ("the
  // gradients of update 12") and `seconds` (0: only silence ends it) are for when it takes too
  // long. The memory the operation uses must live until it is waited for or the engine is gone.
  std::shared_ptr<Task> Start(std::unique_ptr<Operation> operation, std::string what,
                              double seconds);
  // Returns when it is complete. Throws PeerLost.
  void Wait(const std::shared_ptr<Task>& task);
  // Start and Wait.
  void Run(std::unique_ptr<Operation> operation, std::string what, double seconds);

  // Ends in order with the other ranks, or without `finish` just stops using the wire. False: the
  // wire does not come back from it, and the process should end without the destructor.
  bool End(bool finish);
  // Ends all processes that can be reached, this one too.
  [[noreturn]] void Abort(int exit_code);

 private:
  using Clock = std::chrono::steady_clock;

  void Stop();
  // On the engine's thread.
  void Main(const std::function<std::unique_ptr<Wire>()>& open);
  bool MoveOn();  // true: something was under way
  void Heartbeats();
  // Why the run cannot go on, or nothing.
  std::optional<std::string> Failure(const Task& task) const;
  void Fail(const std::string& why);
  std::string NameOf(int rank) const;

  const Deadlines deadlines_;
  int rank_ = 0, size_ = 1;
  std::string description_;

  mutable std::mutex mutex_;
  std::condition_variable wake_engine_, wake_caller_;
  std::deque<std::shared_ptr<Task>> posted_;  // not yet seen by the engine
  std::vector<std::string> names_;
  std::string failure_;  // not empty: nothing goes on
  bool opened_ = false, stop_ = false, finish_ = true;
  std::atomic<int> abort_code_{-1};
  std::atomic<bool> ended_{false};

  // The engine's thread alone.
  std::unique_ptr<Wire> wire_;
  std::vector<std::shared_ptr<Task>> under_way_;
  struct Peer {
    Wire::Request send = Wire::kNone, receive = Wire::kNone;
    std::byte sent{}, received{};
    Clock::time_point heard;
  };
  std::vector<Peer> peers_;
  Clock::time_point next_heartbeat_, next_look_;
  int next_tag_ = 2;  // 0 is the heartbeat's

  std::thread thread_;  // last: starts when all else is there
};

}  // namespace hagane::comm
