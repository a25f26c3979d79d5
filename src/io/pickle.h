// The part of Python's pickle language (protocol 2) that a PyTorch state dict is written in, as an
// interpreter that builds plain data and knows nine kinds of things and an allow-list of names.
// There is nothing in it that could execute, import or allocate on behalf of the file: every other
// opcode, name or operand type is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensor_file.h"

namespace hagane::io {

enum class PickleKind : uint8_t {
  kUnset,  // an empty memo slot
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kTuple,
  kList,
  kDict,  // dict and collections.OrderedDict
  kStorage,
  kTensor,
  kOrderedDictClass,  // the names of the allow-list, before they are called
  kRebuildTensor,
  kRebuildParameter,
  kStorageClass,
};

// 16 bytes, no ownership: strings point into the file, containers are indices into PickleData. So
// nothing here recurses, whatever the nesting, and sharing an object never copies it.
struct PickleValue {
  PickleKind kind = PickleKind::kUnset;
  uint32_t length = 0;  // of text
  union {
    const char* text;
    int64_t integer = 0;
    double real;
    uint32_t index;  // into items, storages or tensors
    DType dtype;     // kStorageClass
  };

  std::string_view string() const { return {text, length}; }
};

struct PickleStorage {
  DType dtype = DType::kF32;
  std::string_view key;
  int64_t elements = 0;
};

struct PickleTensor {
  uint32_t storage = 0;
  int64_t offset = 0;  // in elements
  std::vector<int64_t> shape, strides;
};

struct PickleData {
  PickleValue root;
  size_t consumed = 0;  // bytes up to and with STOP
  std::vector<std::vector<PickleValue>>
      items;  // of tuples and lists; of dicts: key, value, key ...
  std::vector<PickleStorage> storages;
  std::vector<PickleTensor> tensors;
};

// Runs one pickle from the first byte to its STOP; what follows is left alone. `origin` names the
// file in errors. The strings of the result point into `bytes`.
PickleData RunPickle(std::span<const std::byte> bytes, const std::string& origin);

}  // namespace hagane::io
