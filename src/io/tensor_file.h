// Weights on disk, whatever the format: named tensors that point into mapped files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"

namespace hagane::io {

// Values on disk in the safetensors header; never change their names (see DTypeName).
enum class DType { kF64, kF32, kF16, kBf16, kI64, kI32, kI16, kI8, kU8, kBool };
size_t DTypeSize(DType dtype);
const char* DTypeName(DType dtype);  // "F32", "BF16", "I64" ...

struct TensorView {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // little endian, row-major, dense; any alignment

  int64_t elements() const;
};

// Copies a floating tensor to float32 (F64, F32, F16, BF16), or an integer one exactly
// representable as such. `out.size()` must be elements().
void CopyToFloat(const TensorView& tensor, std::span<float> out);
// Copies an integer tensor (I64 ... BOOL); throws an Error for floating ones. `what` names it
// there.
std::vector<int64_t> CopyToInt(const TensorView& tensor, const std::string& what);

// "[3, 20]" or "3x20" style shapes for messages: "3x20", scalars "scalar".
std::string ShapeText(std::span<const int64_t> shape);

// A set of named tensors and whatever keeps their bytes alive.
class TensorFile {
 public:
  virtual ~TensorFile() = default;
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const TensorView* Find(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& origin() const { return origin_; }  // path, for messages

 protected:
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
  std::string origin_;
};

// One .safetensors file (mapped). Throws an Error naming file and reason when it is malformed.
std::unique_ptr<TensorFile> OpenSafetensors(const std::filesystem::path& path);
// One pytorch_model.bin: zip archive (torch >= 1.6) or the old stream; an allow-list interpreter,
// nothing is executed (docs/formats.md).
std::unique_ptr<TensorFile> OpenTorchBin(const std::filesystem::path& path);
// The weights of a model folder, tried in order: model.safetensors, model.safetensors.index.json,
// pytorch_model.bin, pytorch_model.bin.index.json.
std::unique_ptr<TensorFile> OpenModelWeights(const std::filesystem::path& folder);

struct TensorToWrite {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};
// Writes, fsyncs and closes `path`; metadata {"format":"pt"} is what transformers wants to see.
void WriteSafetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                      const std::map<std::string, std::string>& metadata);

}  // namespace hagane::io
