// Sums the gradients of all ranks while backward still computes: buckets of the flat buffer are
// sent as soon as they are final, from its end to its start, and the word embedding as rows.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/run_context.h"
#include "comm/group.h"

namespace hagane::comm {

// Where a table of rows (the word embedding) lies in the flat buffer; of it only the rows that a
// batch used have a gradient.
struct RowTable {
  int64_t offset = 0, rows = 0, width = 0;
};

struct ReduceTimes {
  double total = 0;    // seconds in which something was under way
  double exposed = 0;  // of those, the ones backward was over
};

class GradientReducer {
 public:
  // All must outlive the reducer. `size`: of the flat buffer. `table.rows` 0: none.
  GradientReducer(const RunContext& ctx, Group* group, WireType type, float* grads, int64_t size,
                  const RowTable& table);

  // Begins an update; `ids` are the rows of the table that this rank's batches use.
  void Begin(std::span<const int32_t> ids, const std::string& what, Patience patience);
  // The gradients from `begin` to the end of the buffer are final: this rank adds nothing more to
  // them in this update. A rank without batches need not call it.
  void Ready(int64_t begin);
  // Everything is final; returns when the buffer holds the sums. Throws PeerLost.
  void Finish();

  const ReduceTimes& times() const { return times_; }

 private:
  struct Bucket {
    int64_t begin = 0, end = 0;
  };
  void Start(const Bucket& bucket);
  // The rows of the table that any rank uses, to and from compact_.
  void ListUsedRows();
  void CopyRows(bool back);
  void AddTimes(std::chrono::steady_clock::time_point backward_end);

  RunContext ctx_;
  Group* group_;
  const WireType type_;
  float* const grads_;
  const RowTable table_;
  std::vector<Bucket> buckets_;  // in the order they become final
  size_t started_ = 0;           // of the buckets, in this update
  std::vector<std::shared_ptr<Task>> tasks_;
  AlignedBuffer<std::byte> scratch_;  // slots, used in turn
  size_t slot_bytes_ = 0;
  std::string what_;  // is waited for
  Patience patience_;

  // One bit a row: which rows this rank, and then any rank, uses.
  std::vector<uint64_t> used_, all_used_;
  std::shared_ptr<Task> used_task_;
  std::vector<int64_t> rows_;
  AlignedBuffer<float> compact_;  // the used rows, one after the other
  AlignedBuffer<std::byte> compact_scratch_;
  ReduceTimes times_;
};

}  // namespace hagane::comm
