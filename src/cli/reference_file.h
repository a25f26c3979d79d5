// The batch, loss and logits of a reference file (docs/verify.md) in the program's own terms.
#pragma once

#include <vector>

#include "data/features.h"
#include "io/tensor_file.h"
#include "nn/encoder_config.h"

namespace hagane::cli {

struct Reference {
  data::Features rows;  // labels and with them the problem; padding left out
  double loss = 0;
  std::vector<float> logits;  // as nn::Model gives them: [rows, outputs]; spans: [tokens, 2]
};

// Throws an Error that names the file and the tensor.
Reference ReadReference(const io::TensorFile& file, const nn::EncoderConfig& encoder);

}  // namespace hagane::cli
