#include "io/tensor_file.h"

#include <fmt/format.h>

#include <cstring>

#include "base/bf16.h"
#include "base/error.h"
#include "io/bytes.h"
#include "io/half.h"

namespace hagane::io {
namespace {

template <class T, class Convert>
void ConvertEach(std::span<const std::byte> bytes, std::span<float> out, Convert convert) {
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = convert(LoadLittle<T>(bytes.data() + i * sizeof(T)));
  }
}

template <class T>
float ExactFloat(T value) {
  const auto converted = static_cast<float>(value);
  // The first comparison keeps the cast back defined: 2^63 - 1 rounds up to 2^63.
  if (converted >= 0x1p63f || static_cast<int64_t>(converted) != static_cast<int64_t>(value)) {
    throw Error(fmt::format("the integer {} is no float32 value", value));
  }
  return converted;
}

template <class T>
void CopyIntegersToFloat(std::span<const std::byte> bytes, std::span<float> out) {
  ConvertEach<T>(bytes, out, ExactFloat<T>);
}

template <class T>
void CopyIntegers(std::span<const std::byte> bytes, std::vector<int64_t>& out) {
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<int64_t>(LoadLittle<T>(bytes.data() + i * sizeof(T)));
  }
}

}  // namespace

size_t DTypeSize(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBf16:
    case DType::kI16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  HAGANE_CHECK(false, "unknown DType");
  return 0;
}

const char* DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "F64";
    case DType::kF32:
      return "F32";
    case DType::kF16:
      return "F16";
    case DType::kBf16:
      return "BF16";
    case DType::kI64:
      return "I64";
    case DType::kI32:
      return "I32";
    case DType::kI16:
      return "I16";
    case DType::kI8:
      return "I8";
    case DType::kU8:
      return "U8";
    case DType::kBool:
      return "BOOL";
  }
  HAGANE_CHECK(false, "unknown DType");
  return "";
}

int64_t TensorView::elements() const {
  return static_cast<int64_t>(bytes.size() / DTypeSize(dtype));
}

void CopyToFloat(const TensorView& tensor, std::span<float> out) {
  HAGANE_CHECK(static_cast<int64_t>(out.size()) == tensor.elements(), "CopyToFloat: wrong size");
  const auto bytes = tensor.bytes;
  switch (tensor.dtype) {
    case DType::kF32:
      if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
      return;
    case DType::kF64:
      return ConvertEach<double>(bytes, out, [](double x) { return static_cast<float>(x); });
    case DType::kF16:
      return ConvertEach<uint16_t>(bytes, out, HalfToFloat);
    case DType::kBf16:
      return ConvertEach<uint16_t>(bytes, out, [](uint16_t x) { return ToFloat(bf16{x}); });
    case DType::kI64:
      return CopyIntegersToFloat<int64_t>(bytes, out);
    case DType::kI32:
      return CopyIntegersToFloat<int32_t>(bytes, out);
    case DType::kI16:
      return CopyIntegersToFloat<int16_t>(bytes, out);
    case DType::kI8:
      return CopyIntegersToFloat<int8_t>(bytes, out);
    case DType::kU8:
    case DType::kBool:
      return CopyIntegersToFloat<uint8_t>(bytes, out);
  }
}

std::vector<int64_t> CopyToInt(const TensorView& tensor, const std::string& what) {
  std::vector<int64_t> out(static_cast<size_t>(tensor.elements()));
  switch (tensor.dtype) {
    case DType::kI64:
      CopyIntegers<int64_t>(tensor.bytes, out);
      return out;
    case DType::kI32:
      CopyIntegers<int32_t>(tensor.bytes, out);
      return out;
    case DType::kI16:
      CopyIntegers<int16_t>(tensor.bytes, out);
      return out;
    case DType::kI8:
      CopyIntegers<int8_t>(tensor.bytes, out);
      return out;
    case DType::kU8:
    case DType::kBool:
      CopyIntegers<uint8_t>(tensor.bytes, out);
      return out;
    case DType::kF64:
    case DType::kF32:
    case DType::kF16:
    case DType::kBf16:
      break;
  }
  throw Error(
      fmt::format("{} holds {} values, integers are needed", what, DTypeName(tensor.dtype)));
}

std::string ShapeText(std::span<const int64_t> shape) {
  if (shape.empty()) return "scalar";
  return fmt::format("{}", fmt::join(shape, "x"));
}

const TensorView* TensorFile::Find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

}  // namespace hagane::io
