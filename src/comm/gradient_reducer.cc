#include "comm/gradient_reducer.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "comm/collectives.h"

namespace hagane::comm {

namespace {

// Large enough for the network's full speed, small enough that the first is under way early.
constexpr int64_t kBucketValues = int64_t{2} << 20;
// Buckets that can be under way at once; more wait for the first to be done.
constexpr size_t kSlots = 6;
static_assert(kSlots < Wire::kLanes, "the table's rows need a lane of their own");

// Does not begin before `previous`, whose scratch it takes over, is done.
class AfterOperation final : public Operation {
 public:
  AfterOperation(std::shared_ptr<Task> previous, std::unique_ptr<Operation> operation)
      : previous_(std::move(previous)), operation_(std::move(operation)) {}

  bool Advance(Wire* wire, int tag) override {
    if (previous_ != nullptr && !previous_->done) return false;
    previous_ = nullptr;
    return operation_->Advance(wire, tag);
  }
  std::vector<int> Missing() const override { return operation_->Missing(); }

 private:
  std::shared_ptr<Task> previous_;
  std::unique_ptr<Operation> operation_;
};

}  // namespace

GradientReducer::GradientReducer(const RunContext& ctx, Group* group, WireType type, float* grads,
                                 int64_t size, const RowTable& table)
    : ctx_(ctx), group_(group), type_(type), grads_(grads), table_(table) {
  const int64_t table_end = table.offset + table.rows * table.width;
  const auto cut = [&](int64_t begin, int64_t end) {
    while (end > begin) {
      const int64_t from = std::max(begin, end - kBucketValues);
      buckets_.push_back({from, end});
      end = from;
    }
  };
  cut(table_end, size);
  cut(0, table.offset);
  for (const Bucket& bucket : buckets_) {
    slot_bytes_ =
        std::max(slot_bytes_, AllReduceScratch(bucket.end - bucket.begin, type, group->size()));
  }
  if (group->alone()) return;
  scratch_.Resize(slot_bytes_ * std::min(kSlots, buckets_.size()));
  used_.resize(static_cast<size_t>((table.rows + 63) / 64));
  all_used_.resize(used_.size() * static_cast<size_t>(group->size()));
}

void GradientReducer::Begin(std::span<const int32_t> ids, const std::string& what,
                            Patience patience) {
  if (group_->alone()) return;
  what_ = what;
  patience_ = patience;
  started_ = 0;
  tasks_.clear();
  std::fill(used_.begin(), used_.end(), 0);
  for (const int32_t id : ids) {
    HAGANE_CHECK(id >= 0 && id < table_.rows, "an id without a row in the table");
    used_[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
  }
  used_task_ = group_->engine()->Start(
      AllGather(std::as_bytes(std::span(used_)), std::as_writable_bytes(std::span(all_used_))),
      what_, patience_.seconds);
}

void GradientReducer::Start(const Bucket& bucket) {
  const size_t slot = started_ % kSlots;
  const std::span<float> values(grads_ + bucket.begin,
                                static_cast<size_t>(bucket.end - bucket.begin));
  auto sum =
      AllReduce(ctx_, values, type_, scratch_.span().subspan(slot * slot_bytes_, slot_bytes_),
                static_cast<int>(slot));
  tasks_.push_back(group_->engine()->Start(
      std::make_unique<AfterOperation>(started_ < kSlots ? nullptr : tasks_[started_ - kSlots],
                                       std::move(sum)),
      what_, patience_.seconds));
  ++started_;
}

void GradientReducer::Ready(int64_t begin) {
  if (group_->alone()) return;
  while (started_ < buckets_.size() && buckets_[started_].begin >= begin) Start(buckets_[started_]);
}

void GradientReducer::Finish() {
  if (group_->alone()) return;
  const auto backward_end = std::chrono::steady_clock::now();
  Ready(0);
  Engine* const engine = group_->engine();
  if (table_.rows > 0) {
    engine->Wait(used_task_);
    ListUsedRows();
    CopyRows(false);
    const std::span<float> values =
        compact_.span().first(rows_.size() * static_cast<size_t>(table_.width));
    compact_scratch_.Reserve(AllReduceScratch(std::ssize(values), type_, group_->size()));
    tasks_.push_back(engine->Start(AllReduce(ctx_, values, type_, compact_scratch_.span(), kSlots),
                                   what_, patience_.seconds));
  }
  for (const auto& task : tasks_) engine->Wait(task);
  if (table_.rows > 0) CopyRows(true);
  AddTimes(backward_end);
}

void GradientReducer::ListUsedRows() {
  rows_.clear();
  for (size_t word = 0; word < used_.size(); ++word) {
    uint64_t bits = 0;
    for (size_t at = word; at < all_used_.size(); at += used_.size()) bits |= all_used_[at];
    for (; bits != 0; bits &= bits - 1) {
      rows_.push_back(static_cast<int64_t>(word) * 64 + __builtin_ctzll(bits));
    }
  }
  compact_.Reserve(rows_.size() * static_cast<size_t>(table_.width));
}

void GradientReducer::CopyRows(bool back) {
  const auto width = static_cast<size_t>(table_.width);
  for (size_t i = 0; i < rows_.size(); ++i) {
    float* const row = grads_ + table_.offset + rows_[i] * table_.width;
    float* const compact = compact_.data() + i * width;
    std::copy_n(back ? compact : row, width, back ? row : compact);
  }
}

void GradientReducer::AddTimes(std::chrono::steady_clock::time_point backward_end) {
  using Seconds = std::chrono::duration<double>;
  std::chrono::steady_clock::time_point covered;  // up to here it is counted
  for (const auto& task : tasks_) {
    const auto start = std::max(task->start, covered);
    if (task->end <= start) continue;
    times_.total += Seconds(task->end - start).count();
    covered = task->end;
    const auto exposed = std::max(start, backward_end);
    if (task->end > exposed) times_.exposed += Seconds(task->end - exposed).count();
  }
}

}  // namespace hagane::comm
