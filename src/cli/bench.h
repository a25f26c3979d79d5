// What the measurements of `hagane bench` share.
#pragma once

#include <string>
#include <vector>

#include "base/run_context.h"
#include "cli/console.h"
#include "cli/flag_parser.h"
#include "kernels/machine_peak.h"

namespace hagane::cli {

// --isa, --threads, --json, --help, after those of the measurement itself.
std::vector<Flag> WithBenchFlags(std::vector<Flag> own);
RunContext BenchContext(const ParsedFlags& flags, Console& console);

// What "% of peak" refers to: the tiles where a product of bf16 runs on them, else FMA.
double PeakGflops(const kernels::MachinePeak& peak, bool bf16);

// hagane bench step, hagane bench kernels; `args` without these words.
int BenchStep(const std::vector<std::string>& args, const Streams& streams);
int BenchKernels(const std::vector<std::string>& args, const Streams& streams);

}  // namespace hagane::cli
