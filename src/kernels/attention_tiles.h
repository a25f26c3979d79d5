// attention.h by given loops, for the tests of those on tiles; loops on tiles take bf16 only.
#pragma once

#include "kernels/attention.h"
#include "kernels/attention_loops.h"

namespace hagane::kernels {

void AttentionForwardBy(const RunContext& ctx, const AttentionLoops& loops,
                        const AttentionForwardArgs& args);
void AttentionBackwardBy(const RunContext& ctx, const AttentionLoops& loops,
                         const AttentionBackwardArgs& args);

}  // namespace hagane::kernels
