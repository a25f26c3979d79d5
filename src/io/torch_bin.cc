// pytorch_model.bin in its two forms. Both hold one pickle with the state dict, whose tensors are
// views (offset, shape, strides) into named storages; the forms differ in where the storages lie.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "io/bytes.h"
#include "io/formats.h"
#include "io/pickle.h"
#include "io/printable.h"
#include "io/shape.h"
#include "io/zip_archive.h"

namespace hagane::io {
namespace {

using Bytes = std::span<const std::byte>;

// The old form starts with these two pickles: the number 0x1950a86a20f9469cfc6c, the number 1001.
constexpr std::string_view kOldStart(
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e\x80\x02\x4d\xe9\x03\x2e", 21);

constexpr size_t kMostNames = size_t{16} << 20;  // bytes of all tensor names together

std::string_view Text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Where the bytes of a storage lie, by its key.
using StorageBytes = std::unordered_map<std::string_view, Bytes>;

class TorchBin : public TensorFile {
 public:
  TorchBin(std::shared_ptr<const MappedFile> file, std::string origin) : file_(std::move(file)) {
    origin_ = std::move(origin);
    copy_budget_ = file_->bytes().size();
    const std::string_view text = Text(file_->bytes());
    if (text.starts_with("PK\x03\x04")) {
      ReadZip();
    } else if (text.starts_with(kOldStart)) {
      ReadOldStream();
    } else {
      throw Error(fmt::format("{} is not a file that torch.save wrote", origin_),
                  "it may be a Git LFS pointer or an incomplete download; fetch it again");
    }
  }

 private:
  [[noreturn]] void Fail(const std::string& why) const {
    throw Error(fmt::format("{}: {}", origin_, why),
                "the file is damaged or incomplete; fetch it again");
  }

  void ReadZip() {
    const ZipArchive archive(file_->bytes(), origin_);
    const std::string pickle_name = archive.OnlyNameEndingIn("/data.pkl");
    if (pickle_name.empty()) Fail("it has no data.pkl");
    const std::string folder = pickle_name.substr(0, pickle_name.size() - 8);
    if (archive.Has(folder + "byteorder") && Text(archive.Read(folder + "byteorder")) != "little") {
      Fail("its values are big endian");
    }
    const Bytes pickle_bytes = archive.Read(pickle_name);
    const PickleData pickle = RunPickle(pickle_bytes, origin_);
    if (pickle.consumed != pickle_bytes.size()) Fail("data.pkl holds more than one pickle");

    StorageBytes storages;
    for (const PickleStorage& storage : pickle.storages) {
      if (storages.count(storage.key)) continue;
      const Bytes bytes = archive.Read(folder + "data/" + std::string(storage.key));
      if (bytes.size() != StorageSize(storage))
        Fail("a storage is not as large as its tensor says");
      storages.emplace(storage.key, bytes);
    }
    TakeStateDict(pickle, storages);
  }

  // Behind the two fixed pickles: machine facts, the state dict, the list of storage keys; then the
  // storages in the order of that list, each an int64 count and its raw values.
  void ReadOldStream() {
    Bytes rest = file_->bytes().subspan(kOldStart.size());
    const auto next_pickle = [&] {
      PickleData pickle = RunPickle(rest, origin_);
      rest = rest.subspan(pickle.consumed);
      return pickle;
    };
    CheckMachineFacts(next_pickle());
    const PickleData pickle = next_pickle();
    const PickleData keys = next_pickle();

    std::unordered_map<std::string_view, const PickleStorage*> declared;
    for (const PickleStorage& storage : pickle.storages) declared.emplace(storage.key, &storage);
    if (keys.root.kind != PickleKind::kList) Fail("its list of storages is damaged");
    StorageBytes storages;
    for (const PickleValue& key : keys.items[keys.root.index]) {
      const auto found =
          key.kind == PickleKind::kString ? declared.find(key.string()) : declared.end();
      if (found == declared.end()) Fail("it lists a storage that no tensor has");
      const PickleStorage& storage = *found->second;
      const size_t size = StorageSize(storage);
      if (rest.size() < 8 || rest.size() - 8 < size) Fail("it ends within the values");
      if (LoadLittle<int64_t>(rest.data()) != storage.elements) {
        Fail("a storage is not as large as its tensor says");
      }
      if (!storages.emplace(storage.key, rest.subspan(8, size)).second) {
        Fail("it lists a storage twice");
      }
      rest = rest.subspan(8 + size);
    }
    if (!rest.empty()) Fail(fmt::format("{} bytes behind the last storage", rest.size()));
    TakeStateDict(pickle, storages);
  }

  void CheckMachineFacts(const PickleData& facts) const {
    if (facts.root.kind != PickleKind::kDict) Fail("its machine facts are damaged");
    const auto& items = facts.items[facts.root.index];
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      if (items[i].kind == PickleKind::kString && items[i].string() == "little_endian" &&
          items[i + 1].kind == PickleKind::kBool && items[i + 1].integer != 0) {
        return;
      }
    }
    Fail("its values are not marked as little endian");
  }

  size_t StorageSize(const PickleStorage& storage) const {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(storage.elements, static_cast<int64_t>(DTypeSize(storage.dtype)),
                               &bytes)) {
      Fail("a storage has an impossible size");
    }
    return static_cast<size_t>(bytes);
  }

  void TakeStateDict(const PickleData& pickle, const StorageBytes& storages) {
    if (pickle.root.kind != PickleKind::kDict) Fail("it holds no dict of tensors");
    const auto& items = pickle.items[pickle.root.index];
    size_t names_size = 0;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      if (items[i].kind != PickleKind::kString) Fail("a name in its dict is no text");
      const std::string name(items[i].string());
      names_size += name.size();
      if (names_size > kMostNames) Fail("the names of its tensors are too long");
      const PickleValue value = items[i + 1];
      switch (value.kind) {
        case PickleKind::kTensor: {
          TensorView view = View(name, pickle, pickle.tensors[value.index], storages);
          if (!tensors_.emplace(name, std::move(view)).second) {
            Fail(fmt::format("tensor {} is there twice", Printable(name)));
          }
          break;
        }
        case PickleKind::kDict:
        case PickleKind::kList:
        case PickleKind::kTuple:
          throw Error(fmt::format("{}: {} is not a tensor: this is not a flat state dict", origin_,
                                  Printable(name)),
                      "training checkpoints hold one among other things; save model.state_dict() "
                      "alone, or use save_pretrained()");
        default:
          break;  // counters and the like
      }
    }
    if (tensors_.empty()) Fail("it holds no tensors");
  }

  TensorView View(const std::string& name, const PickleData& pickle, const PickleTensor& tensor,
                  const StorageBytes& storages) {
    const auto fail = [&](const char* why) {
      Fail(fmt::format("tensor {} {}", Printable(name), why));
    };
    const PickleStorage& storage = pickle.storages[tensor.storage];
    const auto found = storages.find(storage.key);
    if (found == storages.end() || found->second.size() != StorageSize(storage)) {
      fail("has no values");
    }
    const auto count = ElementCount(tensor.shape);
    const auto width = static_cast<int64_t>(DTypeSize(storage.dtype));
    int64_t bytes = 0;
    if (!count || __builtin_mul_overflow(*count, width, &bytes)) fail("has an impossible shape");
    TensorView view{storage.dtype, tensor.shape, {}};
    if (*count == 0) return view;

    // The last element that the strides reach must be inside the storage.
    int64_t last = tensor.offset;
    bool inside = last >= 0;
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      int64_t reach = 0;
      inside = inside && tensor.strides[d] >= 0 &&
               !__builtin_mul_overflow(tensor.shape[d] - 1, tensor.strides[d], &reach) &&
               !__builtin_add_overflow(last, reach, &last);
    }
    if (!inside || last >= storage.elements) fail("reaches beyond its storage");

    const Bytes from = found->second.subspan(static_cast<size_t>(tensor.offset * width));
    if (IsDense(tensor)) {
      view.bytes = from.first(static_cast<size_t>(bytes));
      return view;
    }
    if (static_cast<size_t>(bytes) > copy_budget_) fail("is expanded to more than the file's size");
    copy_budget_ -= static_cast<size_t>(bytes);
    view.bytes = copies_.emplace_back(
        DenseCopy(tensor, from, static_cast<size_t>(*count), static_cast<size_t>(width)));
    return view;
  }

  // Row-major without gaps; the stride of a dimension of size 1 says nothing.
  static bool IsDense(const PickleTensor& tensor) {
    int64_t expected = 1;
    for (size_t d = tensor.shape.size(); d-- > 0;) {
      if (tensor.shape[d] != 1 && tensor.strides[d] != expected) return false;
      expected *= tensor.shape[d];
    }
    return true;
  }

  static std::vector<std::byte> DenseCopy(const PickleTensor& tensor, Bytes from, size_t count,
                                          size_t width) {
    std::vector<std::byte> copy(count * width);
    std::vector<int64_t> index(tensor.shape.size(), 0);
    int64_t at = 0;  // element that `index` stands for
    for (size_t i = 0; i < count; ++i) {
      std::copy_n(from.data() + static_cast<size_t>(at) * width, width, copy.data() + i * width);
      for (size_t d = index.size(); d-- > 0;) {
        at += tensor.strides[d];
        if (++index[d] < tensor.shape[d]) break;
        at -= index[d] * tensor.strides[d];
        index[d] = 0;
      }
    }
    return copy;
  }

  std::shared_ptr<const MappedFile> file_;
  std::vector<std::vector<std::byte>>
      copies_;  // tensors whose strides are not those of a dense one
  size_t copy_budget_ = 0;
};

}  // namespace

std::unique_ptr<TensorFile> OpenMappedTorchBin(std::shared_ptr<const MappedFile> file,
                                               const std::string& origin) {
  return std::make_unique<TorchBin>(std::move(file), origin);
}

std::unique_ptr<TensorFile> OpenTorchBin(const std::filesystem::path& path) {
  return OpenMappedTorchBin(MappedFile::Open(path), path.string());
}

}  // namespace hagane::io
