#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "io/bytes.h"
#include "io/formats.h"
#include "io/json.h"
#include "io/mapped_file.h"
#include "io/new_file.h"
#include "io/printable.h"
#include "io/shape.h"
#include "io/tensor_file.h"

namespace hagane::io {
namespace {

constexpr size_t kLongestHeader = size_t{100} << 20;
// Names and metadata are the only parts of a header that are kept.
constexpr size_t kMostText = size_t{16} << 20;

constexpr DType kAllDTypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBf16, DType::kI64,
                                DType::kI32, DType::kI16, DType::kI8,  DType::kU8,   DType::kBool};

struct HeaderEntry {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;
};

// Reads the header without building a tree of it: a hostile one costs no more than its entries.
// Every callback that meets something else than the format has throws.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  std::map<std::string, HeaderEntry> entries;
  std::map<std::string, std::string> metadata;

  bool start_object(size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop && name_ == "__metadata__") {
      place_ = Place::kMetadata;
    } else if (place_ == Place::kTop) {
      place_ = Place::kTensor;
      entry_ = HeaderEntry();
      seen_dtype_ = seen_shape_ = seen_offsets_ = false;
    } else {
      Fail("an object where none belongs");
    }
    return true;
  }

  bool key(std::string& text) override {
    if (place_ != Place::kTensor) CountText(text);
    if (place_ == Place::kTop) {
      name_ = text;
      const bool metadata_again = name_ == "__metadata__" && seen_metadata_;
      if (entries.count(name_) || metadata_again) Fail("it is there twice");
      seen_metadata_ = seen_metadata_ || name_ == "__metadata__";
      if (entries.size() >= kMostTensors) Fail("too many tensors");
    } else {
      key_ = text;
      if (place_ == Place::kMetadata && metadata.count(key_)) Fail("its keys repeat");
    }
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::kMetadata) {
      CountText(text);
      metadata.emplace(key_, text);
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype" || seen_dtype_) Fail("a string out of place");
    seen_dtype_ = true;
    for (const DType dtype : kAllDTypes) {
      if (text == DTypeName(dtype)) {
        entry_.dtype = dtype;
        return true;
      }
    }
    Fail(fmt::format("values of type {} are not supported", Printable(text, 20)));
  }

  bool start_array(size_t) override {
    if (place_ != Place::kTensor) Fail("a list out of place");
    if (key_ == "shape" && !seen_shape_) {
      seen_shape_ = true;
      place_ = Place::kShape;
    } else if (key_ == "data_offsets" && !seen_offsets_) {
      seen_offsets_ = true;
      offsets_ = 0;
      place_ = Place::kOffsets;
    } else {
      Fail("a list out of place");
    }
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (place_ == Place::kShape) {
      if (value > static_cast<uint64_t>(INT64_MAX)) Fail("a size that large cannot be");
      if (entry_.shape.size() >= kMostDimensions) Fail("too many dimensions");
      entry_.shape.push_back(static_cast<int64_t>(value));
    } else if (place_ == Place::kOffsets && offsets_ < 2) {
      (offsets_++ == 0 ? entry_.begin : entry_.end) = value;
    } else {
      Fail("a number out of place");
    }
    return true;
  }

  bool end_array() override {
    if (place_ == Place::kOffsets && offsets_ != 2) Fail("data_offsets are not two numbers");
    place_ = Place::kTensor;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      if (!seen_dtype_ || !seen_shape_ || !seen_offsets_) {
        Fail("dtype, shape or data_offsets is missing");
      }
      entries.emplace(std::move(name_), std::move(entry_));
      place_ = Place::kTop;
    } else if (place_ == Place::kMetadata) {
      place_ = Place::kTop;
    } else {
      place_ = Place::kEnd;
    }
    return true;
  }

  bool number_integer(int64_t) override { Fail("a negative number"); }
  bool number_float(double, const std::string&) override { Fail("a number that is no integer"); }
  bool null() override { Fail("a null"); }
  bool boolean(bool) override { Fail("a truth value"); }
  bool binary(nlohmann::json::binary_t&) override { Fail("binary data"); }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    throw Error(fmt::format("{}: the header is not valid JSON (byte {})", file_, position + 7));
  }

 private:
  enum class Place { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kEnd };

  [[noreturn]] void Fail(const std::string& why) const {
    throw Error(fmt::format("{}: damaged header: {}{}", file_, why,
                            name_.empty() ? "" : fmt::format(" (at \"{}\")", Printable(name_))));
  }
  void CountText(const std::string& text) {
    text_ += text.size() + 64;  // what keeping it costs besides
    if (text_ > kMostText) Fail("names and metadata are too long");
  }

  std::string file_;
  Place place_ = Place::kStart;
  std::string name_, key_;
  HeaderEntry entry_;
  bool seen_metadata_ = false, seen_dtype_ = false, seen_shape_ = false, seen_offsets_ = false;
  int offsets_ = 0;
  size_t text_ = 0;
};

// Shape x type = range, and the ranges lie one behind the other from the first byte to the last.
void CheckRanges(const std::map<std::string, HeaderEntry>& entries, uint64_t data_size,
                 const std::string& file) {
  using Item = std::map<std::string, HeaderEntry>::value_type;
  std::vector<const Item*> order;
  for (const Item& item : entries) {
    const HeaderEntry& entry = item.second;
    const auto fail = [&](const std::string& why) {
      throw Error(fmt::format("{}: tensor {} {}", file, Printable(item.first), why),
                  "the file is damaged or incomplete; fetch it again");
    };
    if (entry.begin > entry.end || entry.end > data_size) fail("lies outside the file");
    const auto count = ElementCount(entry.shape);
    int64_t bytes = 0;
    if (!count ||
        __builtin_mul_overflow(*count, static_cast<int64_t>(DTypeSize(entry.dtype)), &bytes)) {
      fail("has an impossible shape");
    }
    if (static_cast<uint64_t>(bytes) != entry.end - entry.begin) {
      fail(fmt::format("of shape {} and type {} needs {} bytes and has {}", ShapeText(entry.shape),
                       DTypeName(entry.dtype), bytes, entry.end - entry.begin));
    }
    order.push_back(&item);
  }
  std::sort(order.begin(), order.end(), [](const Item* a, const Item* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  uint64_t end = 0;
  for (const Item* item : order) {
    if (item->second.begin != end) {
      throw Error(fmt::format("{}: tensor {} {}", file, Printable(item->first),
                              item->second.begin < end ? "overlaps another one"
                                                       : "leaves a hole in front of it"),
                  "the file is damaged or was made by something that is not safetensors");
    }
    end = item->second.end;
  }
  if (end != data_size) {
    throw Error(fmt::format("{}: {} bytes behind the last tensor", file, data_size - end),
                "the file is damaged; fetch it again");
  }
}

class SafetensorsFile : public TensorFile {
 public:
  SafetensorsFile(std::shared_ptr<const MappedFile> file, std::string origin)
      : file_(std::move(file)) {
    origin_ = std::move(origin);
    const auto bytes = file_->bytes();
    const auto damaged = [&](const std::string& why) {
      return Error(fmt::format("{} is not a whole safetensors file: {}", origin_, why),
                   "the file is damaged or incomplete; fetch it again");
    };
    if (bytes.size() < 8) throw damaged(fmt::format("it has {} bytes", bytes.size()));
    const auto length = LoadLittle<uint64_t>(bytes.data());
    if (length > kLongestHeader) throw damaged(fmt::format("a header of {} bytes", length));
    if (length > bytes.size() - 8) {
      throw damaged(
          fmt::format("the header needs {} bytes and {} are there", length, bytes.size() - 8));
    }
    std::string_view header(reinterpret_cast<const char*>(bytes.data() + 8), length);
    if (header.empty() || header.front() != '{') throw damaged("the header does not start with {");
    header = header.substr(0, header.find_last_not_of(' ') + 1);  // padding
    if (LongestJsonPiece(header) > kLongestJsonPiece)
      throw damaged("a string in the header is too long");

    HeaderReader reader(origin_);
    nlohmann::json::sax_parse(header, &reader);
    const auto data = bytes.subspan(8 + length);
    CheckRanges(reader.entries, data.size(), origin_);
    for (auto& [name, entry] : reader.entries) {
      tensors_.emplace_hint(tensors_.end(), name,
                            TensorView{entry.dtype, std::move(entry.shape),
                                       data.subspan(entry.begin, entry.end - entry.begin)});
    }
    metadata_ = std::move(reader.metadata);
  }

 private:
  std::shared_ptr<const MappedFile> file_;
};

}  // namespace

std::unique_ptr<TensorFile> OpenMappedSafetensors(std::shared_ptr<const MappedFile> file,
                                                  const std::string& origin) {
  return std::make_unique<SafetensorsFile>(std::move(file), origin);
}

std::unique_ptr<TensorFile> OpenSafetensors(const std::filesystem::path& path) {
  return OpenMappedSafetensors(MappedFile::Open(path), path.string());
}

void WriteSafetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const TensorToWrite& tensor : tensors) {
    const auto count = ElementCount(tensor.shape);
    HAGANE_CHECK(
        count && static_cast<uint64_t>(*count) * DTypeSize(tensor.dtype) == tensor.bytes.size(),
        "WriteSafetensors: shape and bytes differ");
    HAGANE_CHECK(!header.contains(tensor.name), "WriteSafetensors: a name is there twice");
    header[tensor.name] = {{"dtype", DTypeName(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the values start 8-byte aligned

  NewFile file(path);
  file.Reserve(8 + text.size() + offset);
  const auto length = static_cast<uint64_t>(text.size());
  file.Write(&length, sizeof(length));
  file.Write(text.data(), text.size());
  for (const TensorToWrite& tensor : tensors) file.Write(tensor.bytes.data(), tensor.bytes.size());
  file.Commit();
}

}  // namespace hagane::io
