#include "kernels/gemm.h"

#include <omp.h>

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "base/profile.h"
#include "kernels/convert_loops.h"
#include "kernels/gemm_onednn.h"
#include "kernels/gemm_plan.h"
#include "kernels/gemm_tiles.h"

namespace hagane::kernels {

namespace {

// Buffers that only grow: a training step allocates nothing once it has seen its largest batch.
struct SharedScratch {
  AlignedBuffer<float> b;     // B widened
  AlignedBuffer<float> sums;  // the sums of all parts of k but the first, one after the other
};
struct BlockScratch {
  AlignedBuffer<float> a;  // a block of A widened
  AlignedBuffer<float> c;  // a block of C before it is rounded
};

// `count` rows of `width`, ld elements apart, to dense float32 rows.
void WidenRows(const ConvertLoops& convert, const bf16* x, int64_t ld, int64_t count, int64_t width,
               float* y) {
  for (int64_t row = 0; row < count; ++row) {
    convert.to_float32(static_cast<size_t>(width), &x[row * ld].bits, y + row * width);
  }
}

// The part of a `matrix` that starts at (row, col), as the product sees it.
MatrixIn At(const MatrixIn& matrix, int64_t row, int64_t col) {
  const int64_t offset = matrix.transposed ? col * matrix.ld + row : row * matrix.ld + col;
  MatrixIn part = matrix;
  if (part.f32 != nullptr) part.f32 += offset;
  if (part.b16 != nullptr) part.b16 += offset;
  return part;
}

void CheckArgs(const GemmArgs& args) {
  HAGANE_CHECK(args.m >= 0 && args.n >= 0 && args.k >= 0);
  if (args.m == 0 || args.n == 0) return;  // pointers may be null
  HAGANE_CHECK((args.c != nullptr) != (args.c_bf16 != nullptr), "C must have one type");
  HAGANE_CHECK(!(args.c_bf16 != nullptr && args.accumulate), "bf16 C cannot accumulate");
  HAGANE_CHECK(args.ldc >= args.n);
  if (args.k == 0) return;
  HAGANE_CHECK((args.a.f32 != nullptr) != (args.a.b16 != nullptr), "A must have one type");
  HAGANE_CHECK((args.b.f32 != nullptr) != (args.b.b16 != nullptr), "B must have one type");
  HAGANE_CHECK((args.a.b16 != nullptr) == (args.b.b16 != nullptr), "operands of two types");
  HAGANE_CHECK(args.a.ld >= (args.a.transposed ? args.m : args.k));
  HAGANE_CHECK(args.b.ld >= (args.b.transposed ? args.k : args.n));
}

// C of a product over nothing.
void GemmOfNothing(const GemmArgs& args) {
  for (int64_t i = 0; i < args.m; ++i) {
    for (int64_t j = 0; j < args.n; ++j) {
      const float bias = args.bias == nullptr ? 0.0f : args.bias[j];
      const int64_t at = i * args.ldc + j;
      if (args.c_bf16 != nullptr) {
        args.c_bf16[at] = ToBf16(bias);
      } else {
        args.c[at] = (args.accumulate ? args.c[at] : 0.0f) + bias;
      }
    }
  }
}

// The three products of a Linear layer, by which operand is read transposed.
std::string_view GemmName(const GemmArgs& args) {
  if (args.a.transposed) return "gemm dw";
  return args.b.transposed ? "gemm y" : "gemm dx";
}

// One call of Gemm by oneDNN: what all its threads share. Operands of bf16 are widened: measured,
// without tiles its bf16 product is slower than its float32 one.
class Job {
 public:
  Job(const RunContext& ctx, const GemmArgs& args, SharedScratch& scratch)
      : args_(args),
        plan_(PlanGemm(args.m, args.n, args.k,
                       {.a_transposed = args.a.transposed, .may_split_k = args.c != nullptr})),
        convert_(ConvertLoopsFor(ctx.isa)),
        widen_(args.a.b16 != nullptr),
        b_(args.b) {
    if (widen_) {
      b_rows_ = args.b.transposed ? args.n : args.k;
      b_.ld = args.b.transposed ? args.k : args.n;
      scratch.b.Reserve(static_cast<size_t>(b_rows_ * b_.ld));
      widened_b_ = scratch.b.data();
      b_.f32 = widened_b_;
      b_.b16 = nullptr;
    }
    if (plan_.k_blocks > 1) {
      scratch.sums.Reserve(static_cast<size_t>((plan_.k_blocks - 1) * args.m * args.n));
      sums_ = scratch.sums.data();
    }
  }

  const GemmPlan& plan() const { return plan_; }
  int64_t rows_to_widen() const { return b_rows_; }
  int64_t rows_to_add() const { return plan_.k_blocks > 1 ? args_.m : 0; }

  void WidenRowOfB(int64_t row) const {
    WidenRows(convert_, args_.b.b16 + row * args_.b.ld, args_.b.ld, 1, b_.ld,
              widened_b_ + row * b_.ld);
  }

  // Block `index`, counted with the columns of C innermost so that a thread meets the same block of
  // A several times in a row; `widened_a` remembers which one its scratch holds.
  void RunBlock(int64_t index, int64_t& widened_a) const {
    thread_local BlockScratch scratch;
    const int64_t a_index = index / plan_.n_blocks;
    const int64_t col = index % plan_.n_blocks * plan_.n_block;
    const int64_t row = a_index % plan_.m_blocks * plan_.m_block;
    const int64_t part = a_index / plan_.m_blocks;
    const int64_t depth = part * plan_.k_block;

    GemmArgs block = args_;
    block.m = std::min(plan_.m_block, args_.m - row);
    block.n = std::min(plan_.n_block, args_.n - col);
    block.k = std::min(plan_.k_block, args_.k - depth);
    block.a = At(args_.a, row, depth);
    block.b = At(b_, depth, col);
    if (args_.bias != nullptr) block.bias = args_.bias + col;
    if (args_.c != nullptr) block.c = args_.c + row * args_.ldc + col;
    if (args_.c_bf16 != nullptr) block.c_bf16 = args_.c_bf16 + row * args_.ldc + col;

    if (widen_) {
      const int64_t rows = block.a.transposed ? block.k : block.m;
      const int64_t width = block.a.transposed ? block.m : block.k;
      scratch.a.Reserve(static_cast<size_t>(rows * width));
      if (widened_a != a_index) {
        WidenRows(convert_, block.a.b16, block.a.ld, rows, width, scratch.a.data());
        widened_a = a_index;
      }
      block.a = {scratch.a.data(), nullptr, width, block.a.transposed};
    }
    if (part > 0) {
      block.c = sums_ + ((part - 1) * args_.m + row) * args_.n + col;
      block.ldc = args_.n;
      block.bias = nullptr;
      block.accumulate = false;
    }
    if (args_.c_bf16 == nullptr) {
      OneDnnGemm(block);
      return;
    }
    scratch.c.Reserve(static_cast<size_t>(block.m * block.n));
    block.c_bf16 = nullptr;
    block.c = scratch.c.data();
    block.ldc = block.n;
    OneDnnGemm(block);
    for (int64_t i = 0; i < block.m; ++i) {
      bf16* out = args_.c_bf16 + (row + i) * args_.ldc + col;
      convert_.to_bf16(block.n, block.c + i * block.n, &out->bits);
    }
  }

  // The sums of the later parts of k, in order.
  void AddPartsOfRow(int64_t row) const {
    for (int64_t part = 1; part < plan_.k_blocks; ++part) {
      convert_.add(args_.n, sums_ + ((part - 1) * args_.m + row) * args_.n,
                   args_.c + row * args_.ldc);
    }
  }

 private:
  const GemmArgs& args_;
  const GemmPlan plan_;
  const ConvertLoops& convert_;
  const bool widen_;
  MatrixIn b_;  // B as blocks read it
  int64_t b_rows_ = 0;
  float* widened_b_ = nullptr;
  float* sums_ = nullptr;
};

}  // namespace

void Gemm(const RunContext& ctx, const GemmArgs& args) {
  CheckArgs(args);
  if (args.m == 0 || args.n == 0) return;
  if (args.k == 0) return GemmOfNothing(args);
  const double flops =
      2.0 * static_cast<double>(args.m) * static_cast<double>(args.n) * static_cast<double>(args.k);
  const ProfileScope profile(ctx, GemmName(args), flops, 0);
  if (args.a.b16 != nullptr && HasTiles(ctx)) {
    return TileGemm(ctx, amx::kTileGemmLoops, args);
  }
  LimitOneDnnIsa(ctx);

  thread_local SharedScratch scratch;
  const Job job(ctx, args, scratch);
  const int64_t blocks = job.plan().blocks();
#pragma omp parallel num_threads(ctx.threads) if (blocks > 1)
  {
    // oneDNN asks OpenMP how many threads it has: one, also where this region has only one itself.
    omp_set_num_threads(1);
#pragma omp for schedule(static)
    for (int64_t row = 0; row < job.rows_to_widen(); ++row) job.WidenRowOfB(row);

    int64_t widened_a = -1;
#pragma omp for schedule(dynamic, 1)
    for (int64_t block = 0; block < blocks; ++block) job.RunBlock(block, widened_a);

#pragma omp for schedule(static)
    for (int64_t row = 0; row < job.rows_to_add(); ++row) job.AddPartsOfRow(row);
  }
}

const char* GemmDescription(const RunContext& ctx, bool bf16_operands) {
  if (bf16_operands && HasTiles(ctx)) return "amx bf16";
  if (bf16_operands) return "bf16 storage, fp32 fma";
  switch (ctx.isa) {
    case Isa::kAvx512:
      return "onednn avx512 fp32";
    case Isa::kAvx2:
      return "onednn avx2 fp32";
    case Isa::kReference:
      break;
  }
  return "onednn sse4.1 fp32";
}

void GemmReference(const GemmArgs& args) {
  CheckArgs(args);
  const auto at = [](const MatrixIn& matrix, int64_t row, int64_t col) -> double {
    const MatrixIn element = At(matrix, row, col);
    return element.b16 != nullptr ? ToFloat(*element.b16) : *element.f32;
  };
  for (int64_t i = 0; i < args.m; ++i) {
    for (int64_t j = 0; j < args.n; ++j) {
      const int64_t c = i * args.ldc + j;
      double sum = args.accumulate ? args.c[c] : 0.0;
      if (args.bias != nullptr) sum += args.bias[j];
      for (int64_t p = 0; p < args.k; ++p) sum += at(args.a, i, p) * at(args.b, p, j);
      if (args.c_bf16 != nullptr) {
        args.c_bf16[c] = ToBf16(static_cast<float>(sum));
      } else {
        args.c[c] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace hagane::kernels
