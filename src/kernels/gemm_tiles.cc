#include "kernels/gemm_tiles.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "kernels/optional_pointer.h"

namespace hagane::kernels {

namespace {

constexpr int64_t kGrain = 32;  // rows and columns in whole pairs of tiles
constexpr int64_t kDepthGrain = 32;
// A block of A has to stay in the second cache (2 MiB where there are tiles) while B passes by.
constexpr int64_t kPackedA = 384 << 10;  // values
constexpr int64_t kMostRows = 256, kMostColumns = 512;
constexpr int64_t kLeast = 64;        // rows and columns of a block
constexpr int64_t kEnoughTasks = 48;  // so that the last one of a thread costs little

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Cut {
  int64_t rows, columns;  // of a block
  int64_t row_blocks, column_blocks;
  int64_t tasks() const { return row_blocks * column_blocks; }
};

Cut CutOf(const GemmArgs& args) {
  int64_t rows = std::clamp(kPackedA / args.k / kGrain * kGrain, kLeast, kMostRows);
  int64_t columns = kMostColumns;
  const auto cut = [&] {
    // Equal blocks: no small one at the end.
    const int64_t row_blocks = DivideUp(args.m, rows), column_blocks = DivideUp(args.n, columns);
    const int64_t r = DivideUp(DivideUp(args.m, row_blocks), kGrain) * kGrain;
    const int64_t c = DivideUp(DivideUp(args.n, column_blocks), kGrain) * kGrain;
    return Cut{r, c, DivideUp(args.m, r), DivideUp(args.n, c)};
  };
  while (cut().tasks() < kEnoughTasks && (rows > kLeast || columns > kLeast)) {
    (columns > rows ? columns : rows) /= 2;
  }
  return cut();
}

// `count` rows of an operand from `first` on. Columns of B are its rows here.
TileOperand Rows(const MatrixIn& matrix, bool transposed, int64_t first, int64_t count,
                 int64_t depth) {
  return {Bits(matrix.b16, transposed ? first : first * matrix.ld), matrix.ld, transposed, count,
          depth};
}

struct SharedScratch {
  AlignedBuffer<uint16_t> b;
  AlignedBuffer<float> column_sums;  // a row for each block of rows: added in order at the end
};
struct ThreadScratch {
  AlignedBuffer<uint16_t> a;
};

}  // namespace

void TileGemm(const RunContext& ctx, const TileGemmLoops& loops, const GemmArgs& args,
              const TileEpilogue& epilogue) {
  HAGANE_CHECK(args.a.b16 != nullptr && args.b.b16 != nullptr, "tiles need bf16");
  const Cut cut = CutOf(args);
  const int64_t panel = loops.packed_size(kGrain, args.k);
  const int64_t panels = DivideUp(args.n, kGrain);
  thread_local SharedScratch shared_of_thread;
  SharedScratch& shared = shared_of_thread;  // the calling thread's
  shared.b.Reserve(static_cast<size_t>(panels * panel));
  if (epilogue.slope_in != nullptr) {
    shared.column_sums.Reserve(static_cast<size_t>(cut.row_blocks * args.n));
  }

#pragma omp parallel num_threads(ctx.threads) if (cut.tasks() > 1)
  {
    thread_local ThreadScratch scratch;
    scratch.a.Reserve(static_cast<size_t>(loops.packed_size(cut.rows, args.k)));
#pragma omp for schedule(static)
    for (int64_t i = 0; i < panels; ++i) {
      const int64_t first = i * kGrain;
      loops.pack_b(
          Rows(args.b, !args.b.transposed, first, std::min(kGrain, args.n - first), args.k),
          shared.b.data() + i * panel);
    }
    int64_t packed_row = -1;  // of A, in this thread's scratch
#pragma omp for schedule(dynamic, 1)
    for (int64_t task = 0; task < cut.tasks(); ++task) {
      const int64_t row = task / cut.column_blocks * cut.rows;
      const int64_t column = task % cut.column_blocks * cut.columns;
      TileBlock block = {};
      block.rows = std::min(cut.rows, args.m - row);
      block.columns = std::min(cut.columns, args.n - column);
      block.depth_tiles = DivideUp(args.k, kDepthGrain);
      if (row != packed_row) {
        loops.pack_a(Rows(args.a, args.a.transposed, row, block.rows, args.k), scratch.a.data());
        packed_row = row;
      }
      block.a = scratch.a.data();
      block.b = shared.b.data() + column / kGrain * panel;
      const int64_t at = row * args.ldc + column;
      block.c = Offset(args.c, at);
      block.c_bf16 = Bits(args.c_bf16, at);
      block.ldc = args.ldc;
      block.bias = Offset(args.bias, column);
      block.accumulate = args.accumulate;
      block.activation = epilogue.activation;
      block.slope_out = Bits(epilogue.slope_out, at);
      block.slope_in = Bits(epilogue.slope_in, at);
      if (epilogue.slope_in != nullptr) {
        block.column_sums = shared.column_sums.data() + row / cut.rows * args.n + column;
        std::fill_n(block.column_sums, block.columns, 0.0f);
      }
      loops.block(block);
    }
  }
  if (epilogue.column_sums == nullptr) return;
  for (int64_t i = 0; i < cut.row_blocks; ++i) {
    const float* const part = shared.column_sums.data() + i * args.n;
    for (int64_t j = 0; j < args.n; ++j) epilogue.column_sums[j] += part[j];
  }
}

}  // namespace hagane::kernels
