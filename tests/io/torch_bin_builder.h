// Writes pickles, zip archives and whole pytorch_model.bin files piece by piece, so that a test can
// make any of the pieces wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/crc32.h"

namespace hagane::io {

template <class T>
std::string Little(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// Pickle opcodes, one function each.
namespace pickle {
inline const std::string kStart = "\x80\x02";
inline std::string Text(std::string_view s) {
  return "X" + Little(static_cast<uint32_t>(s.size())) + std::string(s);
}
inline std::string Int(int64_t v) { return std::string("\x8a\x08", 2) + Little(v); }
inline std::string Global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string Tuple(const std::string& items) { return "(" + items + "t"; }
inline const std::string kFalse = "\x89";
inline const std::string kOrderedDict = Global("collections", "OrderedDict") + ")R";
inline std::string Dict(const std::string& items) { return kOrderedDict + "(" + items + "u"; }
inline std::string Storage(const std::string& type, const std::string& key, int64_t elements) {
  return Tuple(Text("storage") + Global("torch", type) + Text(key) + Text("cpu") + Int(elements)) +
         "Q";
}
inline std::string Ints(const std::vector<int64_t>& values) {
  std::string items;
  for (const int64_t v : values) items += Int(v);
  return Tuple(items);
}
inline std::string Tensor(const std::string& storage, int64_t offset,
                          const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  return Global("torch._utils", "_rebuild_tensor_v2") +
         Tuple(storage + Int(offset) + Ints(shape) + Ints(strides) + kFalse + kOrderedDict) + "R";
}
}  // namespace pickle

struct ZipPart {
  std::string name, data;
  uint16_t method = 0, flags = 0;
  // What the headers say, where it is not the truth.
  std::string local_name = "";
  int64_t local_size = -1, size = -1, compressed = -1, offset = -1, crc = -1;
  int local_flags = -1, local_method = -1;
};

inline std::string Zip(const std::vector<ZipPart>& parts) {
  std::string file, directory;
  for (const ZipPart& part : parts) {
    const auto crc = part.crc >= 0 ? static_cast<uint32_t>(part.crc)
                                   : Crc32(std::as_bytes(std::span(part.data)));
    const auto size =
        static_cast<uint32_t>(part.size >= 0 ? part.size : static_cast<int64_t>(part.data.size()));
    const auto local_size = part.local_size >= 0 ? static_cast<uint32_t>(part.local_size) : size;
    const auto compressed = part.compressed >= 0 ? static_cast<uint32_t>(part.compressed) : size;
    const auto offset =
        static_cast<uint32_t>(part.offset >= 0 ? part.offset : static_cast<int64_t>(file.size()));
    const std::string& local_name = part.local_name.empty() ? part.name : part.local_name;
    const auto local_flags =
        static_cast<uint16_t>(part.local_flags >= 0 ? part.local_flags : part.flags);
    const auto local_method =
        static_cast<uint16_t>(part.local_method >= 0 ? part.local_method : part.method);
    file += "PK\x03\x04" + Little<uint16_t>(0) + Little(local_flags) + Little(local_method) +
            Little<uint32_t>(0) + Little(crc) + Little(local_size) + Little(local_size) +
            Little(static_cast<uint16_t>(local_name.size())) + Little<uint16_t>(0) + local_name +
            part.data;
    directory += "PK\x01\x02" + Little<uint16_t>(0) + Little<uint16_t>(0) + Little(part.flags) +
                 Little(part.method) + Little<uint32_t>(0) + Little(crc) + Little(compressed) +
                 Little(size) + Little(static_cast<uint16_t>(part.name.size())) +
                 Little<uint16_t>(0) + Little<uint16_t>(0) + Little<uint16_t>(0) +
                 Little<uint16_t>(0) + Little<uint32_t>(0) + Little(offset) + part.name;
  }
  const auto begin = static_cast<uint32_t>(file.size());
  const auto entries = static_cast<uint16_t>(parts.size());
  return file + directory + "PK\x05\x06" + Little<uint16_t>(0) + Little<uint16_t>(0) +
         Little(entries) + Little(entries) + Little(static_cast<uint32_t>(directory.size())) +
         Little(begin) + Little<uint16_t>(0);
}

// "m/data.pkl" with the pickle and one storage "m/data/0".
inline std::string ZipBin(const std::string& pickle, const std::string& storage) {
  return Zip({{"m/data.pkl", pickle::kStart + pickle + "."}, {"m/data/0", storage}});
}

}  // namespace hagane::io
