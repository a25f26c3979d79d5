#include "io/pickle.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "io/bytes.h"
#include "io/printable.h"
#include "io/shape.h"

namespace hagane::io {
namespace {

// A state dict of a large encoder has a few thousand objects. The limits keep a hostile pickle
// below some 30 MB whatever it does.
constexpr size_t kMostObjects = size_t{1} << 18;  // containers, storages, tensors, memo slots
constexpr size_t kMostItems = size_t{1} << 20;    // on the stack; in all containers together
constexpr size_t kLongestString = size_t{1} << 20;
constexpr size_t kMostOpcodes = size_t{1} << 24;

// Opcodes by the names that Python's documentation of the language gives them.
enum Op : uint8_t {
  kMark = '(',
  kStop = '.',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kEmptyDict = '}',
  kBinFloat = 'G',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
};

PickleValue Make(PickleKind kind) {
  PickleValue value;
  value.kind = kind;
  return value;
}
PickleValue MakeInt(int64_t integer) {
  PickleValue value = Make(PickleKind::kInt);
  value.integer = integer;
  return value;
}
PickleValue MakeBool(bool truth) {
  PickleValue value = Make(PickleKind::kBool);
  value.integer = truth;
  return value;
}
PickleValue MakeIndex(PickleKind kind, size_t index) {
  PickleValue value = Make(kind);
  value.index = static_cast<uint32_t>(index);
  return value;
}
PickleValue MakeStorageClass(DType dtype) {
  PickleValue value = Make(PickleKind::kStorageClass);
  value.dtype = dtype;
  return value;
}

struct AllowedName {
  std::string_view module, name;
  PickleValue value;
};

const AllowedName kAllowedNames[] = {
    {"collections", "OrderedDict", Make(PickleKind::kOrderedDictClass)},
    {"torch._utils", "_rebuild_tensor_v2", Make(PickleKind::kRebuildTensor)},
    {"torch._utils", "_rebuild_parameter", Make(PickleKind::kRebuildParameter)},
    {"torch", "DoubleStorage", MakeStorageClass(DType::kF64)},
    {"torch", "FloatStorage", MakeStorageClass(DType::kF32)},
    {"torch", "HalfStorage", MakeStorageClass(DType::kF16)},
    {"torch", "BFloat16Storage", MakeStorageClass(DType::kBf16)},
    {"torch", "LongStorage", MakeStorageClass(DType::kI64)},
    {"torch", "IntStorage", MakeStorageClass(DType::kI32)},
    {"torch", "ShortStorage", MakeStorageClass(DType::kI16)},
    {"torch", "CharStorage", MakeStorageClass(DType::kI8)},
    {"torch", "ByteStorage", MakeStorageClass(DType::kU8)},
    {"torch", "BoolStorage", MakeStorageClass(DType::kBool)},
};

class Interpreter {
 public:
  Interpreter(std::span<const std::byte> bytes, const std::string& origin)
      : bytes_(bytes), origin_(origin) {}

  PickleData Run() {
    for (size_t executed = 0; executed < kMostOpcodes; ++executed) {
      const auto op = Read<uint8_t>();
      if (op == kStop) {
        data_.root = Pop();
        if (!stack_.empty() || !marks_.empty()) Fail("values are left over at its end");
        data_.consumed = at_;
        return std::move(data_);
      }
      Execute(op);
    }
    Fail("it is too long");
  }

 private:
  [[noreturn]] void Fail(const std::string& why) const {
    throw Error(fmt::format("{}: refused: its pickle is not that of plain weights: {} (byte {})",
                            origin_, why, at_),
                "nothing of the file was executed; ask its author for a model.safetensors");
  }

  // --- operands ---
  std::string_view ReadBytes(size_t size) {
    if (size > bytes_.size() - at_) Fail("it ends too early");
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data() + at_), size);
    at_ += size;
    return text;
  }
  template <class T>
  T Read() {
    return LoadLittle<T>(reinterpret_cast<const std::byte*>(ReadBytes(sizeof(T)).data()));
  }
  std::string_view ReadLine() {
    const auto* from = reinterpret_cast<const char*>(bytes_.data() + at_);
    const std::string_view rest(from, std::min<size_t>(bytes_.size() - at_, 1024));
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) Fail("a name does not end");
    at_ += end + 1;
    return rest.substr(0, end);
  }

  // --- stack, marks, memo ---
  void Push(PickleValue value) {
    if (stack_.size() >= kMostItems) Fail("too many values on its stack");
    stack_.push_back(value);
  }
  void PushString(std::string_view text) {
    if (text.size() > kLongestString) Fail("a string is too long");
    PickleValue value = Make(PickleKind::kString);
    value.text = text.data();
    value.length = static_cast<uint32_t>(text.size());
    Push(value);
  }
  PickleValue Pop() {
    if (stack_.size() <= Bottom()) Fail("its stack is empty");
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }
  PickleValue Pop(PickleKind kind, const char* what) {
    const PickleValue value = Pop();
    if (value.kind != kind) Fail(fmt::format("{} is missing", what));
    return value;
  }
  size_t Bottom() const { return marks_.empty() ? 0 : marks_.back(); }
  std::vector<PickleValue> PopToMark() {
    if (marks_.empty()) Fail("a mark is missing");
    const size_t mark = marks_.back();
    marks_.pop_back();
    std::vector<PickleValue> values(stack_.begin() + static_cast<std::ptrdiff_t>(mark),
                                    stack_.end());
    stack_.resize(mark);
    return values;
  }
  void Remember(size_t slot) {
    if (slot >= kMostObjects) Fail("its memo is too large");
    if (stack_.size() <= Bottom()) Fail("its stack is empty");
    if (slot >= memo_.size()) memo_.resize(slot + 1);
    memo_[slot] = stack_.back();
  }
  void Recall(size_t slot) {
    if (slot >= memo_.size() || memo_[slot].kind == PickleKind::kUnset)
      Fail("a memo slot is empty");
    Push(memo_[slot]);
  }

  // --- objects ---
  void CountItems(size_t more) {
    items_ += more;
    if (items_ > kMostItems) Fail("too many values");
  }
  void PushContainer(PickleKind kind, std::vector<PickleValue> values) {
    if (data_.items.size() >= kMostObjects) Fail("too many objects");
    CountItems(values.size());
    data_.items.push_back(std::move(values));
    Push(MakeIndex(kind, data_.items.size() - 1));
  }
  void PushTuple(size_t size) {
    std::vector<PickleValue> values(size);
    for (size_t i = size; i-- > 0;) values[i] = Pop();
    PushContainer(PickleKind::kTuple, std::move(values));
  }
  void Extend(PickleKind kind, std::span<const PickleValue> values) {
    if (stack_.size() <= Bottom() || stack_.back().kind != kind) Fail("values for no container");
    if (kind == PickleKind::kDict && values.size() % 2 != 0) Fail("a key without a value");
    CountItems(values.size());
    auto& items = data_.items[stack_.back().index];
    items.insert(items.end(), values.begin(), values.end());
  }
  const std::vector<PickleValue>& Items(PickleValue container) const {
    return data_.items[container.index];
  }

  void PushGlobal() {
    const std::string_view module = ReadLine(), name = ReadLine();
    for (const AllowedName& allowed : kAllowedNames) {
      if (module == allowed.module && name == allowed.name) return Push(allowed.value);
    }
    Fail(fmt::format("it asks for {}.{}", Printable(module), Printable(name)));
  }

  // ("storage", torch.FloatStorage, key, device, elements[, None])
  void PushStorage() {
    const PickleValue id = Pop(PickleKind::kTuple, "the tuple that names a storage");
    const auto& parts = Items(id);
    const bool old_form = parts.size() == 6 && parts[5].kind == PickleKind::kNone;
    if ((parts.size() != 5 && !old_form) || parts[0].kind != PickleKind::kString ||
        parts[0].string() != "storage" || parts[1].kind != PickleKind::kStorageClass ||
        parts[2].kind != PickleKind::kString || parts[3].kind != PickleKind::kString ||
        parts[4].kind != PickleKind::kInt || parts[4].integer < 0) {
      Fail("a storage is not described as PyTorch does");
    }
    if (data_.storages.size() >= kMostTensors) Fail("too many storages");
    data_.storages.push_back({parts[1].dtype, parts[2].string(), parts[4].integer});
    Push(MakeIndex(PickleKind::kStorage, data_.storages.size() - 1));
  }

  void Call() {
    const PickleValue arguments = Pop(PickleKind::kTuple, "the argument tuple of a call");
    const PickleValue function = Pop();
    switch (function.kind) {
      case PickleKind::kOrderedDictClass:
        if (!Items(arguments).empty()) Fail("OrderedDict is called with arguments");
        return PushContainer(PickleKind::kDict, {});
      case PickleKind::kRebuildTensor:
        return PushTensor(Items(arguments));
      case PickleKind::kRebuildParameter: {
        // (tensor, requires_grad, hooks): the tensor itself is all that matters.
        const auto& parts = Items(arguments);
        if (parts.size() != 3 || parts[0].kind != PickleKind::kTensor ||
            parts[1].kind != PickleKind::kBool || parts[2].kind != PickleKind::kDict) {
          Fail("a parameter is not described as PyTorch does");
        }
        return Push(parts[0]);
      }
      default:
        Fail("it calls something that is no function");
    }
  }

  // (storage, offset, shape, strides, requires_grad, hooks[, metadata])
  void PushTensor(const std::vector<PickleValue>& parts) {
    if ((parts.size() != 6 && parts.size() != 7) || parts[0].kind != PickleKind::kStorage ||
        parts[1].kind != PickleKind::kInt || parts[2].kind != PickleKind::kTuple ||
        parts[3].kind != PickleKind::kTuple || parts[4].kind != PickleKind::kBool ||
        parts[5].kind != PickleKind::kDict) {
      Fail("a tensor is not described as PyTorch does");
    }
    if (data_.tensors.size() >= kMostTensors) Fail("too many tensors");
    PickleTensor tensor{parts[0].index, parts[1].integer, Integers(parts[2]), Integers(parts[3])};
    if (tensor.shape.size() != tensor.strides.size())
      Fail("a tensor's strides do not fit its shape");
    data_.tensors.push_back(std::move(tensor));
    Push(MakeIndex(PickleKind::kTensor, data_.tensors.size() - 1));
  }

  std::vector<int64_t> Integers(PickleValue tuple) {
    const auto& items = Items(tuple);
    if (items.size() > kMostDimensions) Fail("a tensor has too many dimensions");
    CountItems(items.size());
    std::vector<int64_t> integers;
    for (const PickleValue& item : items) {
      if (item.kind != PickleKind::kInt) Fail("a size or stride is no integer");
      integers.push_back(item.integer);
    }
    return integers;
  }

  // Attributes of an OrderedDict (_metadata: module versions) are read over.
  void Build() {
    Pop(PickleKind::kDict, "the attributes of an object");
    if (stack_.size() <= Bottom() || stack_.back().kind != PickleKind::kDict) {
      Fail("attributes are set on something that is no dict");
    }
  }

  int64_t ReadLong() {
    const std::string_view digits = ReadBytes(Read<uint8_t>());
    if (digits.size() > 8) Fail("an integer is too large");
    uint64_t value = 0;
    for (size_t i = 0; i < digits.size(); ++i) {
      value |= uint64_t{static_cast<unsigned char>(digits[i])} << (8 * i);
    }
    const bool negative = !digits.empty() && (digits.back() & 0x80);
    if (negative && digits.size() < 8) value |= ~uint64_t{0} << (8 * digits.size());
    return static_cast<int64_t>(value);
  }

  void Execute(uint8_t op) {
    switch (op) {
      case kProto:
        if (Read<uint8_t>() != 2) Fail("it is not of protocol 2");
        return;
      case kMark:
        if (marks_.size() >= kMostObjects) Fail("too many marks");
        marks_.push_back(stack_.size());
        return;
      case kNone:
        return Push(Make(PickleKind::kNone));
      case kNewTrue:
      case kNewFalse:
        return Push(MakeBool(op == kNewTrue));
      case kBinInt:
        return Push(MakeInt(Read<int32_t>()));
      case kBinInt1:
        return Push(MakeInt(Read<uint8_t>()));
      case kBinInt2:
        return Push(MakeInt(Read<uint16_t>()));
      case kLong1:
        return Push(MakeInt(ReadLong()));
      case kBinFloat: {
        PickleValue value = Make(PickleKind::kFloat);
        value.real = std::bit_cast<double>(__builtin_bswap64(Read<uint64_t>()));
        return Push(value);
      }
      case kBinString:
      case kBinUnicode:
        return PushString(ReadBytes(Read<uint32_t>()));
      case kShortBinString:
        return PushString(ReadBytes(Read<uint8_t>()));
      case kEmptyTuple:
        return PushTuple(0);
      case kTuple1:
        return PushTuple(1);
      case kTuple2:
        return PushTuple(2);
      case kTuple3:
        return PushTuple(3);
      case kTuple:
        return PushContainer(PickleKind::kTuple, PopToMark());
      case kEmptyList:
        return PushContainer(PickleKind::kList, {});
      case kAppend: {
        const PickleValue item[] = {Pop()};
        return Extend(PickleKind::kList, item);
      }
      case kAppends:
        return Extend(PickleKind::kList, PopToMark());
      case kEmptyDict:
        return PushContainer(PickleKind::kDict, {});
      case kSetItem: {
        const PickleValue value = Pop(), key = Pop();
        const PickleValue item[] = {key, value};
        return Extend(PickleKind::kDict, item);
      }
      case kSetItems:
        return Extend(PickleKind::kDict, PopToMark());
      case kBinPut:
        return Remember(Read<uint8_t>());
      case kLongBinPut:
        return Remember(Read<uint32_t>());
      case kBinGet:
        return Recall(Read<uint8_t>());
      case kLongBinGet:
        return Recall(Read<uint32_t>());
      case kGlobal:
        return PushGlobal();
      case kBinPersId:
        return PushStorage();
      case kReduce:
        return Call();
      case kBuild:
        return Build();
      default:
        Fail(fmt::format("it holds opcode 0x{:02x}", op));
    }
  }

  std::span<const std::byte> bytes_;
  std::string origin_;
  size_t at_ = 0;
  PickleData data_;
  std::vector<PickleValue> stack_, memo_;
  std::vector<size_t> marks_;
  size_t items_ = 0;
};

}  // namespace

PickleData RunPickle(std::span<const std::byte> bytes, const std::string& origin) {
  return Interpreter(bytes, origin).Run();
}

}  // namespace hagane::io
