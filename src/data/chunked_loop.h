// A long loop over rows on all threads, in chunks, that can be watched and stopped.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>

#include "base/run_context.h"
#include "data/interrupted.h"

namespace hagane::data {

// Calls body(chunk, begin, end) for the rows [begin, end) of each chunk of `chunk_rows` rows, in
// any order; progress(rows done, rows) now and then from one thread, and at the end.
// `progress` may be empty. Throws Interrupted when the run is asked to stop, which is looked at
// before each chunk. The first exception of any thread stops the others at their next chunk and is
// thrown again here: none may leave a parallel region.
template <class Body>
void ForEachChunk(const RunContext& ctx, int64_t rows, int64_t chunk_rows,
                  const std::function<void(int64_t, int64_t)>& progress, Body&& body) {
  const int64_t count = (rows + chunk_rows - 1) / chunk_rows;
  std::atomic<int64_t> done = 0;
  std::atomic<bool> stop = false;
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic) num_threads(ctx.threads)
  for (int64_t c = 0; c < count; ++c) {
    if (stop) continue;
    try {
      StopIfAsked(ctx);
      const int64_t begin = c * chunk_rows, end = std::min(begin + chunk_rows, rows);
      body(c, begin, end);
      done += end - begin;
      if (progress && omp_get_thread_num() == 0) progress(done, rows);
    } catch (...) {
#pragma omp critical(hagane_chunked_loop_failure)
      if (!failure) failure = std::current_exception();
      stop = true;
    }
  }
  if (failure) std::rethrow_exception(failure);
  if (progress) progress(rows, rows);
}

}  // namespace hagane::data
