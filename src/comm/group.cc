#include "comm/group.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/error.h"
#include "comm/peer_lost.h"

namespace hagane::comm {

namespace {

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

Group::Group() : members_{{HostName(), getpid(), 0, 0}} {}

Group::Group(std::function<std::unique_ptr<Wire>()> open, const Deadlines& deadlines)
    : engine_(std::make_unique<Engine>(std::move(open), deadlines)), rank_(engine_->rank()) {
  members_.resize(static_cast<size_t>(engine_->size()));
  Meet();
}

Group::~Group() { End(); }

bool Group::End(bool finish) {
  if (engine_ == nullptr || ended_) return true;
  ended_ = true;
  try {
    Barrier("the others to end");
  } catch (const PeerLost&) {
    // Whoever is lost now has nothing left to give; the engine ends without them.
  }
  return engine_->End(finish);
}

void Group::Meet() {
  const std::vector<std::string> cards =
      AllGather(fmt::format("{} {}", getpid(), HostName()), "the names of all processes");
  std::map<std::string, int> nodes, ranks_on;
  for (size_t rank = 0; rank < cards.size(); ++rank) {
    Member& member = members_[rank];
    const size_t blank = cards[rank].find(' ');
    member.pid = std::stoll(cards[rank].substr(0, blank));
    member.host = cards[rank].substr(blank + 1);
    member.node = nodes.emplace(member.host, static_cast<int>(nodes.size())).first->second;
    member.local_rank = ranks_on[member.host]++;
  }
  std::vector<std::string> names;
  for (int rank = 0; rank < size(); ++rank) names.push_back(NameOf(rank));
  engine_->SetNames(std::move(names));
}

int Group::nodes() const {
  int nodes = 0;
  for (const Member& member : members_) nodes = std::max(nodes, member.node + 1);
  return nodes;
}

int Group::local_size() const {
  return static_cast<int>(std::count_if(members_.begin(), members_.end(), [&](const Member& other) {
    return other.node == me().node;
  }));
}

std::string Group::NameOf(int rank) const {
  return fmt::format("rank {} on {}", rank, member(rank).host);
}

std::string Group::description() const {
  return engine_ == nullptr ? "one process" : engine_->description();
}

void Group::Barrier(const std::string& what, Patience patience) {
  if (alone()) return;
  std::vector<std::byte> all(members_.size());
  const std::byte mine{};
  engine_->Run(comm::AllGather({&mine, 1}, all), what, patience.seconds);
}

namespace {

std::vector<std::string> Cut(std::string_view all, const std::vector<size_t>& sizes) {
  std::vector<std::string> texts;
  size_t begin = 0;
  for (const size_t size : sizes) {
    texts.emplace_back(all.substr(begin, size));
    begin += size;
  }
  return texts;
}

// The sizes of all ranks' contributions.
std::vector<size_t> Sizes(Engine* engine, size_t mine, const std::string& what, double seconds) {
  std::vector<size_t> sizes(static_cast<size_t>(engine->size()));
  engine->Run(
      AllGather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(sizes))), what,
      seconds);
  return sizes;
}

size_t Total(const std::vector<size_t>& sizes) {
  size_t total = 0;
  for (const size_t size : sizes) total += size;
  return total;
}

}  // namespace

std::vector<std::string> Group::AllGather(const std::string& mine, const std::string& what,
                                          Patience patience) {
  if (alone()) return {mine};
  const std::vector<size_t> sizes = Sizes(engine_.get(), mine.size(), what, patience.seconds);
  std::string all(Total(sizes), '\0');
  engine_->Run(comm::AllGather(BytesOf(mine), std::as_writable_bytes(std::span(all)), sizes), what,
               patience.seconds);
  return Cut(all, sizes);
}

std::vector<std::string> Group::GatherAtLeader(const std::string& mine, const std::string& what,
                                               Patience patience) {
  if (alone()) return {mine};
  const std::vector<size_t> sizes = Sizes(engine_.get(), mine.size(), what, patience.seconds);
  std::string all(leads() ? Total(sizes) : 0, '\0');
  engine_->Run(comm::Gather(BytesOf(mine), std::as_writable_bytes(std::span(all)), sizes, 0), what,
               patience.seconds);
  return leads() ? Cut(all, sizes) : std::vector<std::string>();
}

std::string Group::FromLeader(const std::string& text, const std::string& what, Patience patience) {
  if (alone()) return text;
  uint64_t size = text.size();
  BroadcastFromLeader(std::as_writable_bytes(std::span(&size, 1)), what, patience);
  std::string result = leads() ? text : std::string(size, '\0');
  BroadcastFromLeader(std::as_writable_bytes(std::span(result)), what, patience);
  return result;
}

void Group::BroadcastFromLeader(std::span<std::byte> bytes, const std::string& what,
                                Patience patience) {
  if (alone()) return;
  engine_->Run(Broadcast(bytes, 0), what, patience.seconds);
}

std::vector<double> Group::Sum(const std::vector<double>& mine, const std::string& what,
                               Patience patience) {
  if (alone()) return mine;
  std::vector<double> all(mine.size() * members_.size());
  engine_->Run(
      comm::AllGather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all))), what,
      patience.seconds);
  std::vector<double> sums(mine.size(), 0.0);
  for (size_t i = 0; i < all.size(); ++i) sums[i % mine.size()] += all[i];
  return sums;
}

bool Group::Any(bool mine, const std::string& what, Patience patience) {
  return Sum({mine ? 1.0 : 0.0}, what, patience)[0] > 0;
}

void Group::Abort(int exit_code) {
  if (engine_ == nullptr) _exit(exit_code);
  engine_->Abort(exit_code);
}

}  // namespace hagane::comm
