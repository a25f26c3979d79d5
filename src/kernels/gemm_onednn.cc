#include "kernels/gemm_onednn.h"

#include <array>
#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

#include "base/aligned_buffer.h"
#include "base/error.h"

namespace hagane::kernels {

namespace {

using dnnl::memory;

// Everything that makes a primitive different from another.
using Key = std::array<int64_t, 11>;

Key KeyOf(const GemmArgs& args) {
  return {args.m,
          args.n,
          args.k,
          args.a.ld,
          args.a.transposed,
          args.b.ld,
          args.b.transposed,
          args.ldc,
          args.a.b16 != nullptr,
          args.c_bf16 != nullptr,
          (args.bias != nullptr ? 1 : 0) + (args.accumulate ? 2 : 0)};
}

memory::desc Describe(int64_t rows, int64_t cols, const MatrixIn& matrix) {
  const auto type = matrix.b16 != nullptr ? memory::data_type::bf16 : memory::data_type::f32;
  const memory::dims strides =
      matrix.transposed ? memory::dims{1, matrix.ld} : memory::dims{matrix.ld, 1};
  return memory::desc({rows, cols}, type, strides);
}

// oneDNN's memory objects take non-const pointers for inputs too.
void* Data(const MatrixIn& matrix) {
  return matrix.b16 != nullptr ? const_cast<void*>(static_cast<const void*>(matrix.b16))
                               : const_cast<void*>(static_cast<const void*>(matrix.f32));
}

// A primitive with its memory objects, whose pointers are set for each run: nothing is allocated.
class Product {
 public:
  Product(const dnnl::engine& engine, const GemmArgs& args) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (args.accumulate) {
      dnnl::post_ops post_ops;
      post_ops.append_sum(1.0f);
      attributes.set_post_ops(post_ops);
    }
    const memory::desc a = Describe(args.m, args.k, args.a);
    const memory::desc b = Describe(args.k, args.n, args.b);
    const memory::desc c({args.m, args.n},
                         args.c_bf16 ? memory::data_type::bf16 : memory::data_type::f32,
                         memory::dims{args.ldc, 1});
    const memory::desc bias({1, args.n}, memory::data_type::f32, memory::dims{args.n, 1});
    const auto description = args.bias != nullptr
                                 ? dnnl::matmul::primitive_desc(engine, a, b, bias, c, attributes)
                                 : dnnl::matmul::primitive_desc(engine, a, b, c, attributes);
    matmul_ = dnnl::matmul(description);
    scratch_bytes_ = description.scratchpad_desc().get_size();

    const auto add = [&](int name, const memory::desc& desc) {
      memories_.emplace(name, memory(desc, engine, nullptr));
    };
    add(DNNL_ARG_SRC, a);
    add(DNNL_ARG_WEIGHTS, b);
    add(DNNL_ARG_DST, c);
    if (args.bias != nullptr) add(DNNL_ARG_BIAS, bias);
    add(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc());
  }

  size_t scratch_bytes() const { return scratch_bytes_; }

  void Run(const dnnl::stream& stream, const GemmArgs& args, void* scratch) {
    const auto set = [&](int name, void* data) { memories_.at(name).set_data_handle(data); };
    set(DNNL_ARG_SRC, Data(args.a));
    set(DNNL_ARG_WEIGHTS, Data(args.b));
    set(DNNL_ARG_DST, args.c_bf16 != nullptr ? static_cast<void*>(args.c_bf16) : args.c);
    if (args.bias != nullptr) set(DNNL_ARG_BIAS, const_cast<float*>(args.bias));
    set(DNNL_ARG_SCRATCHPAD, scratch);
    matmul_.execute(stream, memories_);
  }

 private:
  dnnl::matmul matmul_;
  size_t scratch_bytes_ = 0;
  std::unordered_map<int, memory> memories_;
};

std::string DescribeArgs(const GemmArgs& args) {
  std::string text = " (key";
  for (const int64_t part : KeyOf(args)) text += " " + std::to_string(part);
  return text + ")";
}

// What one thread keeps between calls.
class ThreadState {
 public:
  void Run(const GemmArgs& args) {
    const Key key = KeyOf(args);
    auto found = products_.find(key);
    if (found == products_.end()) {
      // Row counts differ from step to step; what is dropped comes back at the cost of making it.
      if (products_.size() >= kMaxProducts) products_.clear();
      found = products_.emplace(key, Product(engine_, args)).first;
    }
    scratch_.Reserve(found->second.scratch_bytes());
    found->second.Run(stream_, args, scratch_.data());
  }

 private:
  static constexpr size_t kMaxProducts = 1024;

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<Key, Product> products_;
  AlignedBuffer<char> scratch_;
};

}  // namespace

void LimitOneDnnIsa(const RunContext& ctx) {
  static std::once_flag once;
  std::call_once(once, [&] {
    if (ctx.isa == ctx.cpu.best) return;
    const auto limit = ctx.isa == Isa::kAvx2 ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::sse41;
    const dnnl::status status = dnnl::set_max_cpu_isa(limit);
    HAGANE_CHECK(status == dnnl::status::success, "oneDNN was used before its level was chosen");
  });
}

void OneDnnGemm(const GemmArgs& args) {
  try {
    thread_local ThreadState state;
    state.Run(args);
  } catch (const dnnl::error& error) {
    // Nothing may be thrown out of a parallel region, and no input of a user leads here.
    CheckFailed(__FILE__, __LINE__, "oneDNN's matmul",
                std::string(error.what()) + DescribeArgs(args));
  }
}

}  // namespace hagane::kernels
