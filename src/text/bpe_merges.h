// Byte pair encoding: joins neighbours, the best-ranked pair first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hagane::text {

// What two neighbouring tokens may become. Open addressing over one array: this is the inner loop.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank = UINT32_MAX;  // lower is merged earlier
    int32_t id = -1;             // of the merged token; -1: the pair stays apart
  };

  MergeTable() : MergeTable(0) {}
  explicit MergeTable(size_t merges);

  // A pair given twice keeps the later merge.
  void Add(int32_t left, int32_t right, Merge merge);
  Merge Find(int32_t left, int32_t right) const;

 private:
  struct Slot {
    uint64_t pair = kEmpty;
    Merge merge;
  };
  static constexpr uint64_t kEmpty = UINT64_MAX;

  size_t SlotOf(uint64_t pair) const;

  std::vector<Slot> slots_;  // a power of two of them, at most half full
  int shift_ = 0;
};

// Merges one word after the other; the buffers live from word to word. One object per thread.
class BpeMerger {
 public:
  struct Symbol {
    int32_t id;
    uint32_t bytes;          // 0 once it is part of its left neighbour
    int32_t previous, next;  // indices, -1 at the ends
  };

  explicit BpeMerger(const MergeTable& merges) : merges_(merges) {}

  void Clear() { symbols_.clear(); }
  void Push(int32_t id, uint32_t bytes);
  // Afterwards symbols() without those of 0 bytes are the tokens.
  void MergeAll();
  const std::vector<Symbol>& symbols() const { return symbols_; }

 private:
  struct Candidate {
    uint32_t rank;
    int32_t left;  // index of the left symbol
    int32_t id;
    // Heap order: lowest rank, then leftmost, comes out first.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };

  void Offer(int32_t left);

  const MergeTable& merges_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace hagane::text
