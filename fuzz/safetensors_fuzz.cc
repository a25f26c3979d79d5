// The header of a .safetensors file, and that every tensor it grants lies inside the file.
#include "fuzz/input.h"
#include "io/tensor_file.h"

void hagane::fuzz::Read(std::string_view input) {
  const MemoryFile file(input);
  const auto tensors = io::OpenSafetensors(file.path());
  unsigned sum = 0;
  for (const auto& [name, tensor] : tensors->tensors()) {
    for (const std::byte byte : tensor.bytes) sum += static_cast<unsigned>(byte);
  }
  Require(sum <= 255u * input.size());  // no byte is in two tensors
}
