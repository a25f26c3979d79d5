// hagane bench kernels: every kernel of a training step at the shapes of the models.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "base/profile.h"
#include "cli/bench.h"
#include "cli/bench_lengths.h"
#include "cli/bench_models.h"
#include "cli/help.h"
#include "kernels/activation.h"
#include "kernels/adamw.h"
#include "kernels/attention.h"
#include "kernels/convert.h"
#include "kernels/gemm.h"
#include "kernels/gemm_activation.h"
#include "kernels/layer_norm.h"

namespace hagane::cli {

namespace {

constexpr char kUsage[] = "hagane bench kernels [flags]";
constexpr int kBatch = 32;

std::vector<Flag> KernelFlags() {
  using enum FlagType;
  using enum FlagUse;
  const FlagGroup group = FlagGroup::kHagane;
  return WithBenchFlags({
      {"model",
       kString,
       "",
       group,
       "shape of the model; empty: all",
       kUsed,
       {},
       {"minilm", "distilbert", "bert-base", "bert-large"},
       true},
      {"lengths",
       kString,
       "mrpc",
       group,
       "32 sequences of mrpc, qqp, sst2 or squad",
       kUsed,
       {},
       {"mrpc", "qqp", "sst2", "squad"},
       true},
      {"seconds",
       kFloat,
       "0.1",
       group,
       "for each kernel, which counts with its best run",
       kUsed,
       {},
       {},
       true},
      {"bf16", kBool, "False", group, "operands of products in bf16", kUsed, {}, {}, true},
  });
}

struct KernelRow {
  std::string model, kernel, shape;
  double gflops = 0, gb_s = 0, percent = 0;  // of the product peak, or of the memory bandwidth
};

// Memory that looks like activations and weights.
template <class T>
AlignedBuffer<T> Values(const RunContext& ctx, int64_t size) {
  AlignedBuffer<float> values(static_cast<size_t>(size));
  uint32_t state = 1;
  for (float& x : values) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0f;
  }
  if constexpr (std::is_same_v<T, float>) {
    return values;
  } else {
    AlignedBuffer<T> rounded(values.size());
    kernels::ToBf16(ctx, size, values.data(), rounded.data());
    return rounded;
  }
}

class KernelBench {
 public:
  KernelBench(const RunContext& ctx, const kernels::MachinePeak& peak, bool bf16, double seconds)
      : ctx_(ctx), peak_(peak), bf16_(bf16), seconds_(seconds) {}

  void RunModel(const std::string& model, const std::vector<int32_t>& lengths) {
    model_ = model;
    config_ = nn::ParseEncoderConfig(BenchModelConfig(model), model);
    tokens_ = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    const int64_t hidden = config_.hidden_size, inner = config_.intermediate_size;
    for (const auto& [in, out] : {std::pair(hidden, 3 * hidden), std::pair(hidden, hidden),
                                  std::pair(hidden, inner), std::pair(inner, hidden)}) {
      if (bf16_) {
        Linear<bf16>(in, out);
      } else {
        Linear<float>(in, out);
      }
    }
    if (bf16_) ActivatedLinear();
    if (bf16_) {
      Attention<bf16>(lengths);
    } else {
      Attention<float>(lengths);
    }
    LayerNorm();
    if (!bf16_) Activation();
    AdamW();
  }
  const std::vector<KernelRow>& rows() const { return rows_; }

 private:
  // Times `run`, which calls one kernel on the context that it is given: what the kernel says of
  // itself in its ProfileScopes, by its best run.
  template <class Run>
  void Add(const std::string& kernel, const std::string& shape, Run run) {
    RunContext ctx = ctx_;
    Profile profile;
    ctx.profile = &profile;
    double best = 0, flops = 0, bytes = 0, spent = 0;
    for (int repeat = 0; repeat < 4 || spent < seconds_; ++repeat) {
      profile.Clear();
      run(ctx);
      double seconds = 0;
      flops = bytes = 0;
      for (const Profile::Row& row : profile.rows()) {
        seconds += row.seconds;
        flops += row.flops;
        bytes += row.bytes;
      }
      spent += seconds;
      if (repeat == 1 || (repeat > 1 && seconds < best)) best = seconds;  // the first one warms up
    }
    KernelRow row{model_, kernel, shape};
    if (flops > 0) {
      row.gflops = flops / best * 1e-9;
      row.percent = 100 * row.gflops / PeakGflops(peak_, bf16_);
    } else {
      row.gb_s = bytes / best * 1e-9;
      row.percent = 100 * row.gb_s / peak_.memory_gb_s;
    }
    rows_.push_back(std::move(row));
  }

  template <class T>
  void Linear(int64_t in, int64_t out) {
    auto x = Values<T>(ctx_, tokens_ * in), w = Values<T>(ctx_, in * out);
    auto dy = Values<T>(ctx_, tokens_ * out);
    AlignedBuffer<float> y(static_cast<size_t>(std::max(tokens_ * std::max(in, out), in * out)));
    std::fill(y.begin(), y.end(), 0.0f);
    const auto gemm = [&](const char* name, int64_t m, int64_t n, int64_t k, kernels::MatrixIn a,
                          kernels::MatrixIn b, bool accumulate) {
      kernels::GemmArgs args;
      args.m = m;
      args.n = n;
      args.k = k;
      args.a = a;
      args.b = b;
      args.c = y.data();
      args.ldc = n;
      args.accumulate = accumulate;
      Add(name, fmt::format("{} x {} x {}", m, n, k),
          [&](const RunContext& ctx) { kernels::Gemm(ctx, args); });
    };
    using kernels::Plain, kernels::Transposed;
    gemm("gemm y", tokens_, out, in, Plain(x.data(), in), Transposed(w.data(), in), false);
    gemm("gemm dx", tokens_, in, out, Plain(dy.data(), out), Plain(w.data(), in), false);
    gemm("gemm dw", out, in, tokens_, Transposed(dy.data(), out), Plain(x.data(), in), true);
  }

  // The products around the activation, with it.
  void ActivatedLinear() {
    const int64_t hidden = config_.hidden_size, inner = config_.intermediate_size;
    auto x = Values<bf16>(ctx_, tokens_ * hidden), w = Values<bf16>(ctx_, hidden * inner);
    AlignedBuffer<bf16> a(static_cast<size_t>(tokens_ * inner)), slope(a.size());
    auto bias = Values<float>(ctx_, inner);
    kernels::GemmArgs product;
    product.m = tokens_;
    product.n = inner;
    product.k = hidden;
    product.a = kernels::Plain(x.data(), hidden);
    product.b = kernels::Transposed(w.data(), hidden);
    product.ldc = inner;
    product.bias = bias.data();
    const std::string shape = fmt::format("{} x {} x {}", tokens_, inner, hidden);
    Add("gemm y + activation", shape, [&](const RunContext& ctx) {
      kernels::GemmActivation(ctx, {product, config_.activation, a.data(), slope.data()});
    });
    product.b = kernels::Plain(w.data(), inner);  // the output layer's weight
    product.bias = nullptr;
    Add("gemm dx + activation", shape, [&](const RunContext& ctx) {
      kernels::GemmSlope(ctx, {product, slope.data(), a.data(), bias.data()});
    });
  }

  template <class T>
  void Attention(const std::vector<int32_t>& lengths) {
    const int64_t hidden = config_.hidden_size;
    const PackedBatch batch = MakeBenchBatch(lengths, config_);
    auto qkv = Values<T>(ctx_, tokens_ * 3 * hidden);
    auto dout = Values<float>(ctx_, tokens_ * hidden);
    AlignedBuffer<T> out(static_cast<size_t>(tokens_ * hidden)), dqkv(qkv.size());
    AlignedBuffer<float> log_sum_exp(static_cast<size_t>(tokens_ * config_.num_heads));
    kernels::AttentionForwardArgs forward;
    forward.shape.sequences = batch.sequences();
    forward.shape.cu_seqlens = batch.cu_seqlens.data();
    forward.shape.samples = batch.samples.data();
    forward.shape.heads = config_.num_heads;
    forward.shape.head_size = config_.head_size();
    forward.shape.dropout.p = config_.attention_dropout;
    forward.log_sum_exp = log_sum_exp.data();
    kernels::AttentionBackwardArgs backward;
    backward.shape = forward.shape;
    backward.log_sum_exp = log_sum_exp.data();
    backward.dout = dout.data();
    if constexpr (std::is_same_v<T, float>) {
      forward.qkv = backward.qkv = qkv.data();
      forward.out = out.data();
      backward.dqkv = dqkv.data();
    } else {
      forward.qkv_bf16 = backward.qkv_bf16 = qkv.data();
      forward.out_bf16 = out.data();
      backward.dqkv_bf16 = dqkv.data();
    }
    const std::string shape =
        fmt::format("{} tokens, {} heads of {}", tokens_, config_.num_heads, config_.head_size());
    Add("attention forward", shape,
        [&](const RunContext& ctx) { kernels::AttentionForward(ctx, forward); });
    Add("attention backward", shape,
        [&](const RunContext& ctx) { kernels::AttentionBackward(ctx, backward); });
  }

  void LayerNorm() {
    const int64_t width = config_.hidden_size, size = tokens_ * width;
    const auto rows = static_cast<size_t>(tokens_);
    auto h = Values<float>(ctx_, size), residual = Values<float>(ctx_, size);
    auto gamma = Values<float>(ctx_, width), sums = Values<float>(ctx_, 3 * width);
    AlignedBuffer<float> z(h.size()), y(h.size()), mean(rows), rstd(rows);
    AlignedBuffer<bf16> rounded(h.size());
    const std::vector<uint32_t> key(rows, 1);
    kernels::LayerNormForwardArgs forward;
    forward.rows = tokens_;
    forward.width = width;
    forward.h = h.data();
    forward.bias = forward.gamma = forward.beta = gamma.data();
    forward.residual = residual.data();
    forward.dropout.p = config_.attention_output_dropout;
    forward.keys = {key.data(), key.data()};
    forward.z = z.data();
    forward.mean = mean.data();
    forward.rstd = rstd.data();
    forward.y = y.data();
    if (bf16_) forward.y_bf16 = rounded.data();
    const std::string shape = fmt::format("{} x {}", tokens_, width);
    Add("layer_norm forward", shape,
        [&](const RunContext& ctx) { kernels::LayerNormForward(ctx, forward); });
    kernels::LayerNormBackwardArgs backward;
    backward.rows = tokens_;
    backward.width = width;
    backward.dy = residual.data();
    backward.z = z.data();
    backward.mean = mean.data();
    backward.rstd = rstd.data();
    backward.gamma = gamma.data();
    backward.dropout = forward.dropout;
    backward.keys = forward.keys;
    backward.dz = y.data();
    if (bf16_) {
      backward.dh_bf16 = rounded.data();
    } else {
      backward.dh = h.data();
    }
    backward.dgamma = sums.data();
    backward.dbeta = sums.data() + width;
    backward.dbias = sums.data() + 2 * width;
    Add("layer_norm backward", shape,
        [&](const RunContext& ctx) { kernels::LayerNormBackward(ctx, backward); });
  }

  void Activation() {
    const int64_t width = config_.intermediate_size, size = tokens_ * width;
    auto h = Values<float>(ctx_, size), sums = Values<float>(ctx_, width);
    AlignedBuffer<float> z(h.size()), a(h.size());
    kernels::ActivationForwardArgs forward;
    forward.rows = tokens_;
    forward.width = width;
    forward.activation = config_.activation;
    forward.h = h.data();
    forward.z = z.data();
    forward.a = a.data();
    const std::string shape = fmt::format("{} x {}", tokens_, width);
    Add("activation forward", shape,
        [&](const RunContext& ctx) { kernels::ActivationForward(ctx, forward); });
    kernels::ActivationBackwardArgs backward;
    backward.rows = tokens_;
    backward.width = width;
    backward.activation = config_.activation;
    backward.da = h.data();
    backward.z = z.data();
    backward.dz = a.data();
    backward.dbias = sums.data();
    Add("activation backward", shape,
        [&](const RunContext& ctx) { kernels::ActivationBackward(ctx, backward); });
  }

  // Over the weights of two layers: far above the caches, without the memory of the whole model.
  void AdamW() {
    const int64_t hidden = config_.hidden_size;
    const int64_t size = 2 * hidden * (4 * hidden + 2 * int64_t{config_.intermediate_size});
    auto grad = Values<float>(ctx_, size), param = Values<float>(ctx_, size);
    AlignedBuffer<float> exp_avg(grad.size()), exp_avg_sq(grad.size());
    std::fill(exp_avg.begin(), exp_avg.end(), 0.0f);
    std::fill(exp_avg_sq.begin(), exp_avg_sq.end(), 1.0f);
    AlignedBuffer<bf16> copy(bf16_ ? grad.size() : 0);
    kernels::AdamWArgs args;
    args.size = size;
    args.grad = args.zeroed = grad.data();
    args.param = param.data();
    args.exp_avg = exp_avg.data();
    args.exp_avg_sq = exp_avg_sq.data();
    if (bf16_) args.param_bf16 = copy.data();
    args.lr = 1e-5;
    const std::string shape = fmt::format("{:.1f} million", static_cast<double>(size) * 1e-6);
    Add("adamw", shape, [&](const RunContext& ctx) { kernels::AdamW(ctx, args); });
    Add("sum of squares", shape,
        [&](const RunContext& ctx) { kernels::SumOfSquares(ctx, size, param.data()); });
  }

  const RunContext& ctx_;
  const kernels::MachinePeak& peak_;
  const bool bf16_;
  const double seconds_;
  std::string model_;
  nn::EncoderConfig config_;
  int64_t tokens_ = 0;
  std::vector<KernelRow> rows_;
};

}  // namespace

int BenchKernels(const std::vector<std::string>& args, const Streams& streams) {
  const ParsedFlags flags = ParseFlags(KernelFlags(), args, "hagane bench kernels");
  if (flags.Bool("help")) {
    streams.out << CommandHelp(kUsage,
                               "Times each kernel of a training step at the shapes of the models. "
                               "Percentages are of the product peak, or of the memory bandwidth.",
                               KernelFlags(), false);
    return 0;
  }
  const double seconds = flags.Float("seconds");
  if (!(seconds >= 0 && seconds <= 60)) throw UsageError("--seconds must be 0 to 60", kUsage);
  const bool bf16 = flags.Bool("bf16");
  Console console(streams, Console::Level::kAll);
  const RunContext ctx = BenchContext(flags, console);
  const kernels::MachinePeak peak = kernels::MeasurePeak(ctx, std::min(2.0, 20 * seconds), true);
  KernelBench bench(ctx, peak, bf16, seconds);
  const std::vector<int32_t> lengths = BenchLengths(flags.String("lengths"), kBatch);
  // DistilBERT's shapes are BERT-base's.
  for (const char* model : {"minilm", "distilbert", "bert-base", "bert-large"}) {
    const std::string asked = flags.String("model");
    if (asked.empty() ? std::string("distilbert") != model : asked == model) {
      bench.RunModel(model, lengths);
    }
  }
  if (flags.Bool("json")) {
    auto rows = nlohmann::ordered_json::array();
    for (const KernelRow& row : bench.rows()) {
      rows.push_back({{"model", row.model},
                      {"kernel", row.kernel},
                      {"shape", row.shape},
                      {"gflops", row.gflops},
                      {"gb_s", row.gb_s},
                      {"percent_of_peak", row.percent}});
    }
    const nlohmann::ordered_json json{{"cpu", ctx.cpu.model_name},
                                      {"features", ctx.cpu.Describe()},
                                      {"isa", std::string(IsaName(ctx.isa))},
                                      {"threads", ctx.threads},
                                      {"bf16", bf16},
                                      {"peak_gflops", PeakGflops(peak, bf16)},
                                      {"memory_gb_s", peak.memory_gb_s},
                                      {"kernels", std::move(rows)}};
    streams.out << json.dump(2) << "\n";
    return 0;
  }
  streams.out << fmt::format(
      "{} ({}), {} threads, {} kernels, {}; peak {:.0f} GFLOP/s, memory {:.1f} GB/s\n"
      "{:12} {:22} {:28} {:>9} {:>8} {:>10}\n",
      ctx.cpu.model_name, ctx.cpu.Describe(), ctx.threads, IsaName(ctx.isa), bf16 ? "bf16" : "fp32",
      PeakGflops(peak, bf16), peak.memory_gb_s, "model", "kernel", "shape", "GFLOP/s", "GB/s",
      "% of peak");
  for (const KernelRow& row : bench.rows()) {
    streams.out << fmt::format("{:12} {:22} {:28} {:>9} {:>8} {:10.0f}\n", row.model, row.kernel,
                               row.shape, row.gflops > 0 ? fmt::format("{:.1f}", row.gflops) : "-",
                               row.gb_s > 0 ? fmt::format("{:.1f}", row.gb_s) : "-", row.percent);
  }
  return 0;
}

}  // namespace hagane::cli
