// Speed of Gemm at the shapes of encoder training, against the FMA peak measured beside each of
// them.
//
//   gemm_bench [--threads N] [--tokens N] [--hidden N] [--bf16] [--repeats N]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/run_context.h"
#include "kernels/convert.h"
#include "kernels/gemm.h"
#include "kernels/machine_peak.h"

namespace hagane {
namespace {

struct Options {
  int threads = 0;
  int64_t tokens = 1700;
  int64_t hidden = 384;
  bool bf16_operands = false;
  int repeats = 9;
};

struct Shape {
  const char* name;
  int64_t m, n, k;
  bool a_transposed, b_transposed, accumulate;
};

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--bf16") {
      options.bf16_operands = true;
      continue;
    }
    const int64_t value = i + 1 < argc ? std::atoll(argv[++i]) : 0;
    if (value <= 0) {
      fmt::print(stderr, "{} needs a positive number\n", flag);
      std::exit(2);
    }
    if (flag == "--threads") {
      options.threads = static_cast<int>(value);
    } else if (flag == "--tokens") {
      options.tokens = value;
    } else if (flag == "--hidden") {
      options.hidden = value;
    } else if (flag == "--repeats") {
      options.repeats = static_cast<int>(value);
    } else {
      fmt::print(stderr, "unknown flag {}\n", flag);
      std::exit(2);
    }
  }
  return options;
}

// The three products of each of the four Linear layers of an encoder layer.
std::vector<Shape> ShapesOf(const Options& options) {
  const int64_t t = options.tokens, h = options.hidden;
  std::vector<Shape> shapes;
  const auto add = [&](int64_t out, int64_t in) {
    shapes.push_back({"forward", t, out, in, false, true, false});
    shapes.push_back({"dx", t, in, out, false, false, false});
    shapes.push_back({"dw", out, in, t, true, false, true});
  };
  add(3 * h, h);
  add(h, h);
  add(4 * h, h);
  add(h, 4 * h);
  return shapes;
}

class Operand {
 public:
  Operand(const RunContext& ctx, int64_t size, bool as_bf16)
      : f32_(static_cast<size_t>(size)), b16_(as_bf16 ? f32_.size() : 0) {
    for (size_t i = 0; i < f32_.size(); ++i) f32_[i] = static_cast<float>(i % 17) * 0.1f - 0.8f;
    if (as_bf16) kernels::ToBf16(ctx, size, f32_.data(), b16_.data());
  }
  kernels::MatrixIn View(int64_t ld, bool transposed) const {
    return {b16_.empty() ? f32_.data() : nullptr, b16_.empty() ? nullptr : b16_.data(), ld,
            transposed};
  }

 private:
  AlignedBuffer<float> f32_;
  AlignedBuffer<bf16> b16_;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Main(int argc, char** argv) {
  NullLog log;
  const Options options = Parse(argc, argv);
  const RunContext ctx = MakeRunContext("", options.threads, log);
  fmt::print("{}, {}, {} threads, {}\n", ctx.cpu.model_name, IsaName(ctx.isa), ctx.threads,
             kernels::GemmDescription(ctx, options.bf16_operands));
  fmt::print("{:8} {:>6} {:>6} {:>6} {:>9} {:>7} {:>9}\n", "", "m", "n", "k", "GFLOP/s", "% peak",
             "best %");

  double flops_of_all = 0, peak_seconds_of_all = 0;
  for (const Shape& shape : ShapesOf(options)) {
    const Operand a(ctx, shape.m * shape.k, options.bf16_operands);
    const Operand b(ctx, shape.k * shape.n, options.bf16_operands);
    AlignedBuffer<float> c(static_cast<size_t>(shape.m * shape.n));
    kernels::Fill(ctx, shape.m * shape.n, 0.0f, c.data());
    kernels::GemmArgs args;
    args.m = shape.m;
    args.n = shape.n;
    args.k = shape.k;
    args.a = a.View(shape.a_transposed ? shape.m : shape.k, shape.a_transposed);
    args.b = b.View(shape.b_transposed ? shape.k : shape.n, shape.b_transposed);
    args.c = c.data();
    args.ldc = shape.n;
    args.accumulate = shape.accumulate;

    const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                         static_cast<double>(shape.k);
    std::vector<double> rates, shares;
    kernels::Gemm(ctx, args);
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      const double peak = kernels::MeasurePeak(ctx, 0.01, false).fp32_fma_gflops;
      const auto start = std::chrono::steady_clock::now();
      kernels::Gemm(ctx, args);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      rates.push_back(flops / seconds.count() * 1e-9);
      shares.push_back(rates.back() / peak);
    }
    fmt::print("{:8} {:6} {:6} {:6} {:9.1f} {:7.0f} {:9.0f}\n", shape.name, shape.m, shape.n,
               shape.k, Median(rates), 100 * Median(shares),
               100 * *std::max_element(shares.begin(), shares.end()));
    flops_of_all += flops;
    peak_seconds_of_all += flops / Median(shares);
  }
  fmt::print("all: {:.0f} % of peak\n", 100 * flops_of_all / peak_seconds_of_all);
  return 0;
}

}  // namespace
}  // namespace hagane

int main(int argc, char** argv) { return hagane::Main(argc, argv); }
