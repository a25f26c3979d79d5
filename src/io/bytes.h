// Little-endian numbers at any alignment of a file's bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace hagane::io {

static_assert(std::endian::native == std::endian::little, "the file formats are read in place");

template <class T>
T LoadLittle(const std::byte* from) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

}  // namespace hagane::io
