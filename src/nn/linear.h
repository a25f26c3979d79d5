// A Linear layer y = x Wᵀ + b with W [out, in] as on the Hub: the three products of training.
// Which of the two precisions: that of the ParameterSet's operands (bf16 copies or not).
#pragma once

#include <cstdint>

#include "base/run_context.h"
#include "kernels/gemm.h"
#include "kernels/gemm_activation.h"
#include "nn/arena.h"
#include "nn/parameters.h"

namespace hagane::nn {

inline kernels::MatrixIn AsInput(const Operand& x, int64_t ld, bool transposed) {
  return {x.f32, x.b16, ld, transposed};
}

struct Linear {
  int weight = -1;  // index into the ParameterSet; [out, in], dense
  int bias = -1;
  int64_t in = 0, out = 0;

  // y[rows, out] = x[rows, in] Wᵀ; the bias is left to the kernel that reads y next.
  void Forward(const RunContext& ctx, const ParameterSet& parameters, int64_t rows,
               const Operand& x, float* y) const {
    Multiply(ctx, parameters, rows, x, {y, nullptr}, nullptr);
  }
  // The same with the bias added, y in the run's precision.
  void ForwardWithBias(const RunContext& ctx, const ParameterSet& parameters, int64_t rows,
                       const Operand& x, const Operand& y) const {
    Multiply(ctx, parameters, rows, x, y, parameters.value(bias));
  }
  // dx[rows, in] = dy[rows, out] W
  void BackwardInput(const RunContext& ctx, const ParameterSet& parameters, int64_t rows,
                     const Operand& dy, float* dx) const {
    kernels::GemmArgs args = BackwardProduct(parameters, rows, dy);
    args.c = dx;
    kernels::Gemm(ctx, args);
  }
  // a[rows, out] = act(x Wᵀ + bias) and the activation's slope there, in bf16.
  void ForwardActivated(const RunContext& ctx, const ParameterSet& parameters, int64_t rows,
                        const Operand& x, kernels::Activation activation, bf16* a,
                        bf16* slope) const {
    kernels::GemmActivationArgs args;
    args.product = ForwardProduct(parameters, rows, x);
    args.product.bias = parameters.value(bias);
    args.activation = activation;
    args.a = a;
    args.slope = slope;
    kernels::GemmActivation(ctx, args);
  }
  // dz[rows, in] = dy[rows, out] W * slope, in bf16, and its column sums added to dbias.
  void BackwardInputActivated(const RunContext& ctx, const ParameterSet& parameters, int64_t rows,
                              const Operand& dy, const bf16* slope, bf16* dz, float* dbias) const {
    kernels::GemmSlopeArgs args;
    args.product = BackwardProduct(parameters, rows, dy);
    args.slope = slope;
    args.dz = dz;
    args.dbias = dbias;
    kernels::GemmSlope(ctx, args);
  }
  // dW[out, in] += dyᵀ x
  void BackwardWeight(const RunContext& ctx, ParameterSet* parameters, int64_t rows,
                      const Operand& dy, const Operand& x) const {
    kernels::GemmArgs args;
    args.m = out;
    args.n = in;
    args.k = rows;
    args.a = AsInput(dy, out, true);
    args.b = AsInput(x, in, false);
    args.c = parameters->grad(weight);
    args.ldc = in;
    args.accumulate = true;
    kernels::Gemm(ctx, args);
  }

 private:
  void Multiply(const RunContext& ctx, const ParameterSet& parameters, int64_t rows,
                const Operand& x, const Operand& y, const float* added) const {
    kernels::GemmArgs args = ForwardProduct(parameters, rows, x);
    args.c = y.f32;
    args.c_bf16 = y.b16;
    args.bias = added;
    kernels::Gemm(ctx, args);
  }
  kernels::GemmArgs ForwardProduct(const ParameterSet& parameters, int64_t rows,
                                   const Operand& x) const {
    kernels::GemmArgs args;
    args.m = rows;
    args.n = out;
    args.k = in;
    args.a = AsInput(x, in, false);
    args.b = parameters.Operand(weight, in, true);
    args.ldc = out;
    return args;
  }
  kernels::GemmArgs BackwardProduct(const ParameterSet& parameters, int64_t rows,
                                    const Operand& dy) const {
    kernels::GemmArgs args;
    args.m = rows;
    args.n = in;
    args.k = out;
    args.a = AsInput(dy, out, false);
    args.b = parameters.Operand(weight, in, false);
    args.ldc = in;
    return args;
  }
};

}  // namespace hagane::nn
