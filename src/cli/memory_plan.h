// What a run needs of memory, before its first step, and what to say when there is too little.
#pragma once

#include <cstdint>
#include <string>

#include "base/memory_limit.h"
#include "cli/task.h"
#include "comm/group.h"
#include "nn/model.h"
#include "train/options.h"

namespace hagane::cli {

// Bytes.
struct MemoryNeed {
  int processes = 1;        // on this host, that need all this together
  int64_t held = 0;         // by the process already: program, data, weights, gradients
  int64_t optimizer = 0;    // both moments
  int64_t activations = 0;  // of the largest batch
  int64_t logits = 0;       // of the largest evaluation
  int64_t saving = 0;       // the copy that checkpoints are written from while training goes on

  int64_t more() const { return optimizer + activations + logits + saving; }
  int64_t total() const { return held + more(); }
};

// `model` has its weights, `task` its rows. Rows that are trained on (if the task has any) and
// evaluated come in batches of the options' sizes; no batch is larger than that of the longest
// rows.
MemoryNeed EstimateMemory(const nn::Model& model, const Task& task,
                          const train::TrainOptions& options);

// Of all ranks of this host: they share its memory. Every rank calls it, with `mine` as if it were
// alone; what rank 0 does for all is counted once.
MemoryNeed NeedOfHost(comm::Group* group, const MemoryNeed& mine);

// "5.1 of 24.0 GB (...)".
std::string DescribeMemory(const MemoryNeed& need, const MemoryLimit& limit);

// Throws an Error when `need` is more than `limit` leaves: which flag to lower, and to what.
void CheckMemory(const MemoryNeed& need, const MemoryLimit& limit, const nn::Model& model,
                 const Task& task, const train::TrainOptions& options);

}  // namespace hagane::cli
