// Speed of the kernels beside Gemm: ns per element of row kernels, GB/s of the optimiser, GFLOP/s
// of attention against the FMA peak measured beside it.
//
//   kernels_bench [--threads N] [--repeats N]
//
// Times are the CPU time of the process over its threads, so that other work on the machine does
// not count, and the median of the repeats.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/run_context.h"
#include "kernels/activation.h"
#include "kernels/adamw.h"
#include "kernels/attention.h"
#include "kernels/dropout.h"
#include "kernels/layer_norm.h"
#include "kernels/machine_peak.h"

namespace hagane::kernels {
namespace {

struct Options {
  int threads = 1;
  int repeats = 9;
};

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    const int value = i + 1 < argc ? std::atoi(argv[i + 1]) : 0;
    if (value <= 0 || (flag != "--threads" && flag != "--repeats")) {
      fmt::print(stderr, "usage: kernels_bench [--threads N] [--repeats N]\n");
      std::exit(2);
    }
    (flag == "--threads" ? options.threads : options.repeats) = value;
  }
  return options;
}

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Values in [-1, 1) in memory of their own.
class Values {
 public:
  explicit Values(int64_t size) : memory_(static_cast<size_t>(size)) {
    for (size_t i = 0; i < memory_.size(); ++i) {
      memory_[i] = static_cast<float>(i * 7919 % 2048) / 1024.0f - 1.0f;
    }
  }
  float* data() { return memory_.data(); }

 private:
  AlignedBuffer<float> memory_;
};

class Bench {
 public:
  Bench(const RunContext& ctx, int repeats) : ctx_(ctx), repeats_(repeats) {}

  void Run() {
    fmt::print("rows of 1700 tokens, ns an element\n");
    for (const int64_t hidden : {384, 768}) Rows(1700, hidden);
    Optimizer(20'000'000);
    fmt::print("attention of 32 sequences, forward and backward\n");
    Attention("MiniLM, 53 tokens", 12, 32, 53);
    Attention("BERT-base, 53 tokens", 12, 64, 53);
    Attention("BERT-base, 176 tokens", 12, 64, 176);
  }

 private:
  // Seconds of CPU time by one thread.
  template <class Work>
  double Seconds(Work work) const {
    std::vector<double> times;
    work();
    for (int repeat = 0; repeat < repeats_; ++repeat) {
      const double start = CpuSeconds();
      work();
      times.push_back((CpuSeconds() - start) / ctx_.threads);
    }
    return Median(times);
  }
  template <class Work>
  void Row(const std::string& name, int64_t elements, Work work) const {
    fmt::print("  {:36} {:7.3f}\n", name, Seconds(work) * 1e9 / static_cast<double>(elements));
  }

  static DropoutSpec SomeDropout(float p) {
    DropoutSpec spec;
    spec.p = p;
    spec.seed = 42;
    return spec;
  }

  void Rows(int64_t rows, int64_t hidden) const {
    const int64_t size = rows * hidden;
    const std::vector<uint32_t> sample(static_cast<size_t>(rows), 1);
    std::vector<uint32_t> token;
    for (int64_t row = 0; row < rows; ++row) token.push_back(static_cast<uint32_t>(row));
    const RowKeys keys = {sample.data(), token.data()};
    Values h(size), residual(size), dy(size), z(size), y(size), dz(size), dh(size);
    Values bias(hidden), gamma(hidden), beta(hidden), dbias(hidden), dgamma(hidden), dbeta(hidden);
    Values mean(rows), rstd(rows);
    for (const float p : {0.0f, 0.1f}) {
      const std::string name = fmt::format("{}{}", hidden, p > 0 ? ", dropout" : "");
      LayerNormForwardArgs forward;
      forward.rows = rows;
      forward.width = hidden;
      forward.h = h.data();
      forward.bias = bias.data();
      forward.residual = residual.data();
      forward.gamma = gamma.data();
      forward.beta = beta.data();
      forward.dropout = SomeDropout(p);
      forward.keys = keys;
      forward.z = z.data();
      forward.mean = mean.data();
      forward.rstd = rstd.data();
      forward.y = y.data();
      Row("layer_norm forward " + name, size, [&] { LayerNormForward(ctx_, forward); });
      LayerNormBackwardArgs backward;
      backward.rows = rows;
      backward.width = hidden;
      backward.dy = dy.data();
      backward.z = z.data();
      backward.mean = mean.data();
      backward.rstd = rstd.data();
      backward.gamma = gamma.data();
      backward.dropout = forward.dropout;
      backward.keys = keys;
      backward.dz = dz.data();
      backward.dh = dh.data();
      backward.dgamma = dgamma.data();
      backward.dbeta = dbeta.data();
      backward.dbias = dbias.data();
      Row("layer_norm backward " + name, size, [&] { LayerNormBackward(ctx_, backward); });
    }
    Row(fmt::format("dropout mask and product {}", hidden), size,
        [&] { Dropout(ctx_, SomeDropout(0.1f), keys, rows, hidden, h.data(), y.data(), nullptr); });

    const int64_t inner = 4 * hidden;
    Values wide_h(rows * inner), wide_z(rows * inner), wide_a(rows * inner), wide_bias(inner);
    ActivationForwardArgs forward;
    forward.rows = rows;
    forward.width = inner;
    forward.h = wide_h.data();
    forward.bias = wide_bias.data();
    forward.z = wide_z.data();
    forward.a = wide_a.data();
    Row(fmt::format("gelu forward {}", inner), rows * inner,
        [&] { ActivationForward(ctx_, forward); });
    ActivationBackwardArgs backward;
    backward.rows = rows;
    backward.width = inner;
    backward.da = wide_h.data();
    backward.z = wide_z.data();
    backward.dz = wide_a.data();
    backward.dbias = wide_bias.data();
    Row(fmt::format("gelu backward {}", inner), rows * inner,
        [&] { ActivationBackward(ctx_, backward); });
  }

  // Four arrays are read and three written.
  void Optimizer(int64_t size) const {
    Values grad(size), param(size), exp_avg(size), exp_avg_sq(size);
    for (int64_t i = 0; i < size; ++i) exp_avg_sq.data()[i] += 1.0f;  // not negative
    AdamWArgs args;
    args.size = size;
    args.grad = grad.data();
    args.param = param.data();
    args.exp_avg = exp_avg.data();
    args.exp_avg_sq = exp_avg_sq.data();
    args.lr = 1e-5;
    const double update = Seconds([&] { AdamW(ctx_, args); });
    const double squares = Seconds([&] { SumOfSquares(ctx_, size, grad.data()); });
    const double bytes = 4.0 * static_cast<double>(size);
    fmt::print("{} million weights, GB/s\n", size / 1'000'000);
    fmt::print("  {:36} {:7.1f}\n", "adamw", 7 * bytes / update * 1e-9);
    fmt::print("  {:36} {:7.1f}\n", "sum of squares", bytes / squares * 1e-9);
  }

  // Two products forward and five backward (two of them drawn again), as the kernel does them.
  void Attention(const std::string& name, int heads, int head_size, int32_t length) const {
    constexpr int kSequences = 32;
    const int64_t hidden = int64_t{heads} * head_size, tokens = int64_t{kSequences} * length;
    std::vector<int32_t> borders;
    for (int32_t i = 0; i <= kSequences; ++i) borders.push_back(i * length);
    const std::vector<uint32_t> samples(kSequences, 1);
    Values qkv(tokens * 3 * hidden), out(tokens * hidden), dout(tokens * hidden),
        dqkv(tokens * 3 * hidden), log_sum_exp(heads * tokens);
    for (const float p : {0.0f, 0.1f}) {
      AttentionForwardArgs forward;
      forward.shape = {kSequences, borders.data(), samples.data(),
                       heads,      head_size,      SomeDropout(p)};
      forward.qkv = qkv.data();
      forward.log_sum_exp = log_sum_exp.data();
      forward.out = out.data();
      AttentionBackwardArgs backward;
      backward.shape = forward.shape;
      backward.qkv = qkv.data();
      backward.log_sum_exp = log_sum_exp.data();
      backward.dout = dout.data();
      backward.dqkv = dqkv.data();
      const double product = 2.0 * static_cast<double>(tokens * length * hidden) * 1e-9;
      const double forward_rate =
          2 * product / Seconds([&] { AttentionForward(ctx_, forward); }) / ctx_.threads;
      const double backward_rate =
          5 * product / Seconds([&] { AttentionBackward(ctx_, backward); }) / ctx_.threads;
      // Of one core, by CPU time as well.
      const double peak = PeakOfCore();
      fmt::print("  {:36} {:7.1f} {:7.1f} GFLOP/s a core, {:3.0f} and {:3.0f} % of peak\n",
                 name + (p > 0 ? ", dropout" : ""), forward_rate, backward_rate,
                 100 * forward_rate / peak, 100 * backward_rate / peak);
    }
  }

  // The best of some short measurements: what the core gives when nothing else runs on it.
  double PeakOfCore() const {
    double peak = 0;
    for (int i = 0; i < 10; ++i) {
      peak = std::max(peak, MeasurePeak(ctx_, 0.004, false).fp32_fma_gflops_core);
    }
    return peak;
  }

  RunContext ctx_;
  int repeats_;
};

int Main(int argc, char** argv) {
  NullLog log;
  const Options options = Parse(argc, argv);
  const RunContext ctx = MakeRunContext("", options.threads, log);
  fmt::print("{}, {}, {} threads\n", ctx.cpu.model_name, IsaName(ctx.isa), ctx.threads);
  Bench(ctx, options.repeats).Run();
  return 0;
}

}  // namespace
}  // namespace hagane::kernels

int main(int argc, char** argv) { return hagane::kernels::Main(argc, argv); }
