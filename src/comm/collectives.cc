#include "comm/collectives.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/bf16.h"
#include "base/error.h"
#include "kernels/convert.h"

namespace hagane::comm {

namespace {

// Larger broadcasts go out in parts.
constexpr size_t kBroadcastWhole = 64 << 10;
// Elements of a part of an all-reduce: whole cache lines, so that parts do not share one.
constexpr int64_t kPartAlignment = 32;

// Where the bytes of each rank go in what is gathered, one after the other. No `sizes`: all are of
// `size`.
std::vector<std::span<std::byte>> Places(std::span<std::byte> all, std::span<const size_t> sizes,
                                         size_t size, int ranks) {
  std::vector<std::span<std::byte>> places;
  size_t begin = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    places.push_back(all.subspan(begin, sizes.empty() ? size : sizes[static_cast<size_t>(rank)]));
    begin += places.back().size();
  }
  return places;
}

// At one rank, or at all of them.
class GatherOperation final : public Operation {
 public:
  GatherOperation(std::span<const std::byte> mine, std::span<std::byte> all,
                  std::span<const size_t> sizes, std::optional<int> root)
      : mine_(mine), all_(all), sizes_(sizes.begin(), sizes.end()), root_(root) {}

  bool Advance(Wire* wire, int tag) override {
    if (!started_) {
      started_ = true;
      const auto gathers = [&](int rank) { return !root_ || *root_ == rank; };
      if (gathers(wire->rank())) Receive(wire, tag);
      for (int rank = 0; rank < wire->size(); ++rank) {
        if (rank != wire->rank() && gathers(rank)) messages_.Send(wire, rank, tag, mine_);
      }
    }
    return messages_.Done(wire);
  }

  std::vector<int> Missing() const override { return messages_.Missing(); }

 private:
  void Receive(Wire* wire, int tag) {
    const auto places = Places(all_, sizes_, mine_.size(), wire->size());
    for (int rank = 0; rank < wire->size(); ++rank) {
      const std::span<std::byte> place = places[static_cast<size_t>(rank)];
      if (rank != wire->rank()) {
        messages_.Receive(wire, rank, tag, place);
        continue;
      }
      HAGANE_CHECK(place.size() == mine_.size(), "the sizes do not say what this rank gives");
      if (!mine_.empty()) std::memcpy(place.data(), mine_.data(), mine_.size());
    }
  }

  const std::span<const std::byte> mine_;
  const std::span<std::byte> all_;
  const std::vector<size_t> sizes_;
  const std::optional<int> root_;
  bool started_ = false;
  MessageSet messages_;
};

class BroadcastOperation final : public Operation {
 public:
  BroadcastOperation(std::span<std::byte> bytes, int root) : bytes_(bytes), root_(root) {}

  bool Advance(Wire* wire, int tag) override {
    if (round_ == 0) Start(wire, tag);
    if (!messages_.Done(wire)) return false;
    if (round_ == 1 && bytes_.size() > kBroadcastWhole) {
      // The second round: each rank hands its part to those that have neither it nor the whole.
      round_ = 2;
      const int rank = wire->rank();
      for (int peer = 0; peer < wire->size() && rank != root_; ++peer) {
        if (peer == rank || peer == root_) continue;
        messages_.Receive(wire, peer, tag + 1, Part(wire, peer));
        messages_.Send(wire, peer, tag + 1, Part(wire, rank));
      }
      return messages_.Done(wire);
    }
    return true;
  }

  std::vector<int> Missing() const override { return messages_.Missing(); }

 private:
  void Start(Wire* wire, int tag) {
    round_ = 1;
    const bool whole = bytes_.size() <= kBroadcastWhole;
    const auto part_of = [&](int rank) { return whole ? bytes_ : Part(wire, rank); };
    if (wire->rank() != root_) {
      messages_.Receive(wire, root_, tag, part_of(wire->rank()));
      return;
    }
    for (int peer = 0; peer < wire->size(); ++peer) {
      if (peer != root_) messages_.Send(wire, peer, tag, part_of(peer));
    }
  }

  // The bytes in as many parts as there are ranks beside the root.
  std::span<std::byte> Part(const Wire* wire, int rank) const {
    const auto parts = static_cast<size_t>(wire->size() - 1);
    const auto index = static_cast<size_t>(rank < root_ ? rank : rank - 1);
    const size_t begin = bytes_.size() * index / parts;
    return bytes_.subspan(begin, bytes_.size() * (index + 1) / parts - begin);
  }

  const std::span<std::byte> bytes_;
  const int root_;
  int round_ = 0;
  MessageSet messages_;
};

int64_t PartSize(int64_t values, int ranks) {
  const int64_t part = (values + ranks - 1) / ranks;
  return (part + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

// T is float or bf16: what travels.
template <class T>
class AllReduceOperation final : public Operation {
 public:
  AllReduceOperation(const RunContext& ctx, std::span<float> values, std::span<std::byte> scratch,
                     int lane)
      : ctx_(ctx), values_(values), lane_(lane) {
    ctx_.threads = 1;
    // First what arrives from the other ranks, then, in bf16, the rounded values.
    scratch_ = reinterpret_cast<T*>(scratch.data());
  }

  bool Advance(Wire* wire, int tag) override {
    if (round_ == 0) {
      if (wire->size() == 1 || values_.empty()) return true;
      rank_ = wire->rank();
      ranks_ = wire->size();
      part_ = PartSize(std::ssize(values_), ranks_);
      outgoing_ = Outgoing();
      if (wire->carries_rounds()) {
        messages_.Add(
            wire, wire->Scatter(lane_, All(), Sizes(), Bytes(Incoming(0), Count(rank_) * ranks_)));
      } else {
        Exchange(
            wire, tag, [&](int peer) { return Bytes(Incoming(peer), Count(rank_)); },
            [&](int peer) { return Part(peer); });
      }
      round_ = 1;
    }
    if (!messages_.Done(wire)) return false;
    if (round_ == 1) {
      SumMyPart();
      if (wire->carries_rounds()) {
        messages_.Add(wire, wire->Gather(lane_, All(), Sizes()));
      } else {
        Exchange(
            wire, tag + 1, [&](int peer) { return Part(peer); }, [&](int) { return Part(rank_); });
      }
      round_ = 2;
      if (!messages_.Done(wire)) return false;
    }
    TakeResult();
    return true;
  }

  std::vector<int> Missing() const override { return messages_.Missing(); }

 private:
  int64_t Begin(int rank) const { return std::min<int64_t>(std::ssize(values_), rank * part_); }
  int64_t Count(int rank) const { return Begin(rank + 1) - Begin(rank); }

  // With a place for this rank's own, which only a wire that carries rounds fills.
  T* Incoming(int rank) const { return scratch_ + Count(rank_) * rank; }

  // The values as they travel: themselves, or rounded.
  T* Outgoing() {
    if constexpr (std::is_same_v<T, float>) {
      return values_.data();
    } else {
      T* const rounded = scratch_ + part_ * ranks_;
      kernels::ToBf16(ctx_, std::ssize(values_), values_.data(), rounded);
      return rounded;
    }
  }

  static std::span<std::byte> Bytes(T* data, int64_t count) {
    return std::as_writable_bytes(std::span(data, static_cast<size_t>(count)));
  }

  // `incoming(peer)` from each other rank and `outgoing(peer)` to it. Beginning with the neighbour,
  // so that not all begin with the same one.
  template <class Incoming, class Outgoing>
  void Exchange(Wire* wire, int tag, Incoming incoming, Outgoing outgoing) {
    for (int step = 1; step < ranks_; ++step) {
      const int peer = (rank_ + ranks_ - step) % ranks_;
      if (const auto bytes = incoming(peer); !bytes.empty())
        messages_.Receive(wire, peer, tag, bytes);
    }
    for (int step = 1; step < ranks_; ++step) {
      const int peer = (rank_ + step) % ranks_;
      if (const auto bytes = outgoing(peer); !bytes.empty()) messages_.Send(wire, peer, tag, bytes);
    }
  }

  std::span<std::byte> Part(int rank) const { return Bytes(outgoing_ + Begin(rank), Count(rank)); }

  std::span<std::byte> All() const { return Bytes(outgoing_, std::ssize(values_)); }
  // In bytes, of each rank's part.
  std::vector<size_t> Sizes() const {
    std::vector<size_t> sizes;
    for (int rank = 0; rank < ranks_; ++rank) sizes.push_back(Part(rank).size());
    return sizes;
  }

  void SumMyPart() {
    const int64_t count = Count(rank_);
    float* const mine = values_.data() + Begin(rank_);
    T* const own = outgoing_ + Begin(rank_);
    constexpr int64_t kBlock = 2048;
    float sum[kBlock], next[kBlock];
    for (int64_t at = 0; at < count; at += kBlock) {
      const int64_t n = std::min(kBlock, count - at);
      for (int rank = 0; rank < ranks_; ++rank) {
        const T* const from = (rank == rank_ ? own : Incoming(rank)) + at;
        float* const to = rank == 0 ? sum : next;
        if constexpr (std::is_same_v<T, float>) {
          std::copy_n(from, n, to);
        } else {
          kernels::ToFloat32(ctx_, n, from, to);
        }
        if (rank > 0) kernels::Add(ctx_, n, next, sum);
      }
      if constexpr (std::is_same_v<T, float>) {
        std::copy_n(sum, n, mine + at);
      } else {
        kernels::ToBf16(ctx_, n, sum, own + at);
      }
    }
  }

  void TakeResult() {
    if constexpr (!std::is_same_v<T, float>) {
      kernels::ToFloat32(ctx_, std::ssize(values_), outgoing_, values_.data());
    }
  }

  RunContext ctx_;
  const std::span<float> values_;
  const int lane_;
  T* scratch_ = nullptr;
  T* outgoing_ = nullptr;
  int rank_ = 0, ranks_ = 1;
  int64_t part_ = 0;
  int round_ = 0;
  MessageSet messages_;
};

}  // namespace

std::unique_ptr<Operation> AllGather(std::span<const std::byte> mine, std::span<std::byte> all) {
  return AllGather(mine, all, {});
}

std::unique_ptr<Operation> AllGather(std::span<const std::byte> mine, std::span<std::byte> all,
                                     std::span<const size_t> sizes) {
  return std::make_unique<GatherOperation>(mine, all, sizes, std::nullopt);
}

std::unique_ptr<Operation> Gather(std::span<const std::byte> mine, std::span<std::byte> all,
                                  std::span<const size_t> sizes, int root) {
  return std::make_unique<GatherOperation>(mine, all, sizes, root);
}

std::unique_ptr<Operation> Broadcast(std::span<std::byte> bytes, int root) {
  return std::make_unique<BroadcastOperation>(bytes, root);
}

std::unique_ptr<Operation> AllReduce(const RunContext& ctx, std::span<float> values, WireType type,
                                     std::span<std::byte> scratch, int lane) {
  if (type == WireType::kBf16) {
    return std::make_unique<AllReduceOperation<bf16>>(ctx, values, scratch, lane);
  }
  return std::make_unique<AllReduceOperation<float>>(ctx, values, scratch, lane);
}

size_t AllReduceScratch(int64_t values, WireType type, int ranks) {
  const int64_t incoming = PartSize(values, ranks) * ranks;
  const int64_t elements = type == WireType::kBf16 ? incoming + values : incoming;
  const size_t bytes =
      static_cast<size_t>(elements) * (type == WireType::kBf16 ? sizeof(bf16) : sizeof(float));
  return (bytes + 63) / 64 * 64;
}

}  // namespace hagane::comm
