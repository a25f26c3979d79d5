#include "text/bpe_merges.h"

#include <algorithm>
#include <bit>

namespace hagane::text {
namespace {

uint64_t PairKey(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

}  // namespace

MergeTable::MergeTable(size_t merges) : slots_(std::bit_ceil(2 * merges + 2)) {
  shift_ = 64 - std::countr_zero(slots_.size());
}

// Fibonacci hashing, then linear probing: the slot of `pair`, or the empty one where it would go.
inline size_t MergeTable::SlotOf(uint64_t pair) const {
  auto slot = static_cast<size_t>(pair * 0x9E3779B97F4A7C15u >> shift_);
  while (slots_[slot].pair != pair && slots_[slot].pair != kEmpty)
    slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

void MergeTable::Add(int32_t left, int32_t right, Merge merge) {
  const uint64_t pair = PairKey(left, right);
  slots_[SlotOf(pair)] = {pair, merge};
}

MergeTable::Merge MergeTable::Find(int32_t left, int32_t right) const {
  return slots_[SlotOf(PairKey(left, right))].merge;
}

void BpeMerger::Push(int32_t id, uint32_t bytes) {
  const auto index = static_cast<int32_t>(symbols_.size());
  if (index > 0) symbols_.back().next = index;
  symbols_.push_back({id, bytes, index - 1, -1});
}

void BpeMerger::Offer(int32_t left) {
  const Symbol& symbol = symbols_[static_cast<size_t>(left)];
  const MergeTable::Merge merge =
      merges_.Find(symbol.id, symbols_[static_cast<size_t>(symbol.next)].id);
  if (merge.id < 0) return;
  heap_.push_back({merge.rank, left, merge.id});
  std::push_heap(heap_.begin(), heap_.end());
}

void BpeMerger::MergeAll() {
  heap_.clear();
  for (int32_t i = 0; i + 1 < static_cast<int32_t>(symbols_.size()); ++i) Offer(i);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Candidate best = heap_.back();
    heap_.pop_back();
    Symbol& left = symbols_[static_cast<size_t>(best.left)];
    if (left.bytes == 0 || left.next < 0) continue;
    Symbol& right = symbols_[static_cast<size_t>(left.next)];
    // One of the two may have grown since the pair was offered.
    if (merges_.Find(left.id, right.id).id != best.id) continue;
    left.id = best.id;
    left.bytes += right.bytes;
    left.next = right.next;
    right.bytes = 0;
    if (left.next >= 0) symbols_[static_cast<size_t>(left.next)].previous = best.left;
    if (left.previous >= 0) Offer(left.previous);
    if (left.next >= 0) Offer(best.left);
  }
}

}  // namespace hagane::text
