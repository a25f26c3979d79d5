// pytorch_model.bin in both forms, and that every tensor it grants can be read. An archive's
// checksums keep changed pickles out: "pickle" and "storage" as two parts of the input are packed
// into a right one.
#include "fuzz/input.h"
#include "io/tensor_file.h"
#include "tests/io/torch_bin_builder.h"

void hagane::fuzz::Read(std::string_view input) {
  std::string packed;
  if (!input.starts_with("PK") && !input.starts_with("\x80\x02\x8a")) {
    const auto parts = Parts(input, 2);
    packed = io::Zip({{"m/data.pkl", std::string(parts[0])}, {"m/data/0", std::string(parts[1])}});
    input = packed;
  }
  const MemoryFile file(input);
  const auto tensors = io::OpenTorchBin(file.path());
  volatile unsigned sum = 0;
  for (const auto& [name, tensor] : tensors->tensors()) {
    for (const std::byte byte : tensor.bytes) sum = sum + static_cast<unsigned>(byte);
  }
}
