// The processes of a run: who they are, and what they do together. A run of one process is a group
// of one, with the same calls and no plug-in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/collectives.h"
#include "comm/engine.h"

namespace hagane::comm {

struct Member {
  std::string host;
  int64_t pid = 0;
  int node = 0;        // hosts numbered in the order of their first rank
  int local_rank = 0;  // among the ranks of its host
};

// How long an operation may take when all are alive.
struct Patience {
  double seconds = 300;
};
// For what waits until one rank has done something alone (tokenising, saving, scoring): as long as
// that rank is alive.
inline constexpr Patience kWhileAlive{0};

class Group {
 public:
  // One process.
  Group();
  // Joins the other processes over `open`. Throws an Error (PeerLost when they do not come).
  Group(std::function<std::unique_ptr<Wire>()> open, const Deadlines& deadlines);
  // The orderly end: waits for the others to come here too.
  ~Group();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  bool alone() const { return size() == 1; }
  // Does what is done once for all: files, most messages.
  bool leads() const { return rank_ == 0; }
  const Member& member(int rank) const { return members_[static_cast<size_t>(rank)]; }
  const Member& me() const { return member(rank_); }
  int nodes() const;
  int local_size() const;  // ranks on this host
  // "rank 3 on host b".
  std::string NameOf(int rank) const;
  std::string description() const;  // of the back end: "MPICH 4.0.2"

  // The collectives that block. All ranks call the same ones in the same order, from one thread.
  // `what` ends the sentence "waiting for ...". All throw PeerLost.
  void Barrier(const std::string& what, Patience patience = {});
  std::vector<std::string> AllGather(const std::string& mine, const std::string& what,
                                     Patience patience = {});
  // At rank 0 the texts of all; elsewhere empty.
  std::vector<std::string> GatherAtLeader(const std::string& mine, const std::string& what,
                                          Patience patience = {});
  // Rank 0's text everywhere; what the others pass is ignored.
  std::string FromLeader(const std::string& text, const std::string& what, Patience patience = {});
  void BroadcastFromLeader(std::span<std::byte> bytes, const std::string& what,
                           Patience patience = {});
  // Sums in rank order, the same bits everywhere.
  std::vector<double> Sum(const std::vector<double>& mine, const std::string& what,
                          Patience patience = {});
  bool Any(bool mine, const std::string& what, Patience patience = {});

  // For operations beside the calling thread's work; null in a group of one.
  Engine* engine() { return engine_.get(); }
  // The destructor's orderly end, of which is told what came of it: waits for the others to come
  // here too, then ends MPI with them, or with `finish` false uses it no more. False: MPI does not
  // come back, though all have come, and the process should end at once.
  bool End(bool finish = true);
  // Ends every process that can be reached, this one included.
  [[noreturn]] void Abort(int exit_code);

 private:
  void Meet();

  std::unique_ptr<Engine> engine_;
  int rank_ = 0;
  bool ended_ = false;
  std::vector<Member> members_;
};

}  // namespace hagane::comm
