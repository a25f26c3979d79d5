#include "comm/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "comm/peer_lost.h"

namespace hagane::comm {

namespace {

constexpr int kHeartbeatTag = 0;
// The MPI library itself may hang in a call; then the calling thread ends the wait this much later.
constexpr double kWireGraceSeconds = 5;
// Between looks at the wire while the processor is needed elsewhere, and while nothing is expected.
constexpr int kPollsBeforeSleep = 200;
constexpr auto kShortSleep = std::chrono::microseconds(50);
constexpr auto kEndSleep = std::chrono::milliseconds(5);
constexpr auto kLongSleep = std::chrono::milliseconds(100);

// A rank that let so many pass is more likely the cause than one that is heard.
constexpr double kMissedHeartbeats = 2.5;

std::chrono::duration<double> Seconds(double seconds) {
  return std::chrono::duration<double>(seconds);
}

}  // namespace

Engine::Engine(std::function<std::unique_ptr<Wire>()> open, const Deadlines& deadlines)
    : deadlines_(deadlines), thread_([this, open = std::move(open)] { Main(open); }) {
  std::unique_lock lock(mutex_);
  wake_caller_.wait_for(lock, Seconds(deadlines_.start),
                        [&] { return opened_ || !failure_.empty(); });
  if (opened_) return;
  const bool stuck = failure_.empty();
  const std::string why =
      stuck ? fmt::format("the processes of this run did not find each other within {} s",
                          deadlines_.start)
            : failure_;
  lock.unlock();
  if (stuck) {
    thread_.detach();  // MPI_Init cannot be called off
  } else {
    thread_.join();
  }
  throw PeerLost(why,
                 "look at the other processes' messages, and whether the hosts reach each "
                 "other's ports");
}

Engine::~Engine() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

void Engine::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_engine_.notify_one();
}

bool Engine::End(bool finish) {
  {
    const std::lock_guard lock(mutex_);
    finish_ = finish;
  }
  Stop();
  const auto limit = Clock::now() + Seconds(deadlines_.end);
  while (!ended_ && Clock::now() < limit) std::this_thread::sleep_for(kEndSleep);
  return ended_;
}

void Engine::SetNames(std::vector<std::string> names) {
  const std::lock_guard lock(mutex_);
  names_ = std::move(names);
}

std::string Engine::NameOf(int rank) const {
  const std::lock_guard lock(mutex_);
  const auto at = static_cast<size_t>(rank);
  return at < names_.size() ? names_[at] : fmt::format("rank {}", rank);
}

std::shared_ptr<Task> Engine::Start(std::unique_ptr<Operation> operation, std::string what,
                                    double seconds) {
  auto task = std::make_shared<Task>();
  task->operation = std::move(operation);
  task->what = std::move(what);
  task->seconds = seconds;
  task->start = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(task);
  }
  wake_engine_.notify_one();
  return task;
}

void Engine::Wait(const std::shared_ptr<Task>& task) {
  // Short operations are over before a sleep would be.
  for (int poll = 0; poll < kPollsBeforeSleep; ++poll) {
    if (task->done.load(std::memory_order_acquire)) return;
    std::this_thread::yield();
  }
  std::unique_lock lock(mutex_);
  const auto over = [&] { return task->done.load(std::memory_order_acquire) || !failure_.empty(); };
  if (task->seconds > 0) {
    wake_caller_.wait_until(
        lock,
        task->start + std::chrono::duration_cast<Clock::duration>(
                          Seconds(task->seconds + deadlines_.silence + kWireGraceSeconds)),
        over);
  } else {
    wake_caller_.wait(lock, over);
  }
  if (task->done.load(std::memory_order_acquire)) return;
  throw PeerLost(failure_.empty() ? fmt::format("the MPI library does not return from a call; "
                                                "this rank waits for {}",
                                                task->what)
                                  : failure_,
                 "the state of the last checkpoint is safe: start the same command again");
}

void Engine::Run(std::unique_ptr<Operation> operation, std::string what, double seconds) {
  Wait(Start(std::move(operation), std::move(what), seconds));
}

void Engine::Abort(int exit_code) {
  abort_code_ = exit_code;
  wake_engine_.notify_one();
  // The engine ends the process, unless the library holds it.
  for (int i = 0; i < 30 && !ended_; ++i) std::this_thread::sleep_for(kLongSleep);
  _exit(exit_code);
}

void Engine::Main(const std::function<std::unique_ptr<Wire>()>& open) {
  try {
    wire_ = open();
  } catch (const std::exception& error) {
    Fail(error.what());
    return;
  }
  peers_.resize(static_cast<size_t>(wire_->size()));
  for (Peer& peer : peers_) peer.heard = Clock::now();
  next_heartbeat_ = next_look_ = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    rank_ = wire_->rank();
    size_ = wire_->size();
    description_ = wire_->Description();
    opened_ = true;
  }
  wake_caller_.notify_all();

  int idle_polls = 0;
  for (;;) {
    if (abort_code_ >= 0) wire_->Abort(abort_code_);
    bool failed = false;
    {
      const std::lock_guard lock(mutex_);
      failed = !failure_.empty();
    }
    // After a failure no more signs of life: the other ranks are to notice.
    if (!failed) {
      try {
        Heartbeats();  // first: after this process was stopped, its peers' are waiting there
        const bool busy = MoveOn();
        idle_polls = busy ? idle_polls + 1 : 0;
      } catch (const std::exception& error) {
        Fail(error.what());
      }
    }
    std::unique_lock lock(mutex_);
    failed = !failure_.empty();
    if (stop_ && (failed || (under_way_.empty() && posted_.empty()))) break;
    if (!posted_.empty() && !failed) continue;
    if (failed || under_way_.empty()) {
      wake_engine_.wait_for(lock, kLongSleep,
                            [&] { return stop_ || !posted_.empty() || abort_code_ >= 0; });
    } else if (idle_polls < kPollsBeforeSleep) {
      lock.unlock();
      std::this_thread::yield();
    } else {
      wake_engine_.wait_for(lock, kShortSleep);
    }
  }
  // After a failure other ranks may be gone: the orderly end would wait for them for ever.
  if (failure_.empty() && finish_) {
    for (Peer& peer : peers_) {
      wire_->Cancel(&peer.receive);
      wire_->Cancel(&peer.send);
    }
    wire_->Finish();
  }
  ended_ = true;
}

bool Engine::MoveOn() {
  {
    const std::lock_guard lock(mutex_);
    for (; !posted_.empty(); posted_.pop_front()) {
      under_way_.push_back(std::move(posted_.front()));
      under_way_.back()->tag = next_tag_;
      next_tag_ += 2;
      if (next_tag_ >= Wire::kTags) next_tag_ = 2;
    }
    if (!failure_.empty()) return false;
  }
  bool any_done = false;
  for (const std::shared_ptr<Task>& task : under_way_) {
    if (task->operation->Advance(wire_.get(), task->tag)) {
      task->end = Clock::now();
      task->done.store(true, std::memory_order_release);
      any_done = true;
    } else if (const auto why = Failure(*task)) {
      Fail(*why);
      return false;
    }
  }
  if (any_done) {
    std::erase_if(under_way_, [](const auto& task) { return task->done.load(); });
    // Under the lock, or a caller that is just about to sleep would miss it.
    { const std::lock_guard lock(mutex_); }
    wake_caller_.notify_all();
  }
  return !under_way_.empty();
}

std::optional<std::string> Engine::Failure(const Task& task) const {
  const auto now = Clock::now();
  const std::vector<int> missing = task.operation->Missing();
  for (const int rank : missing) {
    const auto silent = now - peers_[static_cast<size_t>(rank)].heard;
    if (silent > Seconds(deadlines_.silence)) {
      return fmt::format("{} has given no sign of life for {:.0f} s; waiting for {}", NameOf(rank),
                         std::chrono::duration<double>(silent).count(), task.what);
    }
  }
  if (task.seconds > 0 && now - task.start > Seconds(task.seconds)) {
    // Who waits for a silent one is missing too, but not to blame.
    std::vector<std::string> silent, all;
    for (const int rank : missing) {
      all.push_back(NameOf(rank));
      const bool quiet = now - peers_[static_cast<size_t>(rank)].heard >
                         Seconds(kMissedHeartbeats * deadlines_.heartbeat);
      if (quiet) silent.push_back(all.back());
    }
    return fmt::format("{} did not answer within {:.0f} s; waiting for {}",
                       fmt::join(silent.empty() ? all : silent, ", "), task.seconds, task.what);
  }
  return std::nullopt;
}

void Engine::Heartbeats() {
  const auto now = Clock::now();
  if (now < next_look_) return;
  next_look_ = now + kLongSleep / 2;
  const bool due = now >= next_heartbeat_;
  if (due) {
    next_heartbeat_ =
        now + std::chrono::duration_cast<Clock::duration>(Seconds(deadlines_.heartbeat));
  }
  for (int rank = 0; rank < wire_->size(); ++rank) {
    if (rank == wire_->rank()) continue;
    Peer& peer = peers_[static_cast<size_t>(rank)];
    while (wire_->Done(&peer.receive)) {
      peer.heard = now;
      peer.receive = wire_->Receive(rank, kHeartbeatTag, {&peer.received, 1});
    }
    // One that does not get through is not followed by more.
    if (due && wire_->Done(&peer.send)) {
      peer.send = wire_->Send(rank, kHeartbeatTag, {&peer.sent, 1});
    }
  }
}

void Engine::Fail(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = why;
  }
  wake_caller_.notify_all();
}

}  // namespace hagane::comm
