// Models by shape, with random weights: measurements need nothing from the Hub.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/packed_batch.h"
#include "base/run_context.h"
#include "nn/model.h"

namespace hagane::cli {

constexpr std::string_view kBenchModels = "minilm, distilbert, bert-base, bert-large";

// The encoder shape called `name`; a usage Error for an unknown one.
nlohmann::ordered_json BenchModelConfig(const std::string& name);

// `problem`: kSingleLabel (two classes) or kSpan.
std::unique_ptr<nn::Model> MakeBenchModel(const RunContext& ctx, const std::string& name,
                                          ProblemType problem, bool bf16);

// Sequences of these lengths with random tokens and labels.
PackedBatch MakeBenchBatch(std::span<const int32_t> lengths, const nn::EncoderConfig& config);

}  // namespace hagane::cli
