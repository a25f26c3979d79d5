// pytorch_model.bin in both forms, and that every tensor it grants can be read.
#include "base/error.h"
#include "fuzz/memory_file.h"
#include "io/tensor_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const hagane::fuzz::MemoryFile file(data, size);
  try {
    const auto tensors = hagane::io::OpenTorchBin(file.path());
    volatile unsigned sum = 0;
    for (const auto& [name, tensor] : tensors->tensors()) {
      for (const std::byte byte : tensor.bytes) sum = sum + static_cast<unsigned>(byte);
    }
  } catch (const hagane::Error&) {
  }
  return 0;
}
