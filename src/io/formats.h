// The readers behind tensor_file.h, on a file that is open already (a shard is opened under its own
// rules, see model_weights.cc).
#pragma once

#include <memory>
#include <string>

#include "io/mapped_file.h"
#include "io/tensor_file.h"

namespace hagane::io {

std::unique_ptr<TensorFile> OpenMappedSafetensors(std::shared_ptr<const MappedFile> file,
                                                  const std::string& origin);
std::unique_ptr<TensorFile> OpenMappedTorchBin(std::shared_ptr<const MappedFile> file,
                                               const std::string& origin);

}  // namespace hagane::io
