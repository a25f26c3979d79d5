// Comparing a model with the batch, loss, logits and gradients that a reference wrote into a file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/run_context.h"

namespace hagane::cli {

struct ReferenceCheckOptions {
  double tolerance = 1.0;  // scales all limits
  bool bf16 = false;
};

// One compared quantity. `allowed` < 0: shown, not judged.
struct Comparison {
  std::string name;
  double error = 0;
  double allowed = 0;
  bool ok() const { return allowed < 0 || error <= allowed; }  // a NaN error is not ok
};

struct ReferenceCheck {
  Comparison loss;                             // absolute
  Comparison logits;                           // largest absolute
  std::vector<Comparison> gradients;           // norm of the difference; in the model's order
  std::vector<std::string> without_reference;  // parameters whose gradient the file does not hold

  double loss_value = 0;
  std::vector<float> logit_values;     // [sequences, outputs]; spans: [tokens, 2]
  std::vector<float> gradient_values;  // the flat buffer

  bool ok() const;
};

// Layout of the file: in.input_ids, in.attention_mask, in.token_type_ids (where the model has
// them), in.labels; out.loss, out.logits; grad.<parameter>. Of question answering:
// in.start_positions, in.end_positions; out.start_logits, out.end_logits. Dropout is off. Limits:
// loss and logits 2e-5, a gradient 1e-4 of its norm + 1e-6 of the norm of all; with bf16 the logits
// 3e-2 of their range, and nothing else is judged.
ReferenceCheck CheckAgainstReference(const RunContext& ctx,
                                     const std::filesystem::path& model_folder,
                                     const std::filesystem::path& reference,
                                     const ReferenceCheckOptions& options);

}  // namespace hagane::cli
