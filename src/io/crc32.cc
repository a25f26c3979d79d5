#include "io/crc32.h"

#include <array>

#include "io/bytes.h"

namespace hagane::io {
namespace {

using Table = std::array<uint32_t, 256>;

// tables[k][b]: the effect of byte b with k more bytes behind it, so that eight bytes go in at
// once.
constexpr std::array<Table, 8> MakeTables() {
  std::array<Table, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0u);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr std::array<Table, 8> kTables = MakeTables();

}  // namespace

uint32_t Crc32(std::span<const std::byte> bytes) {
  uint32_t crc = 0xffffffffu;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    const uint64_t eight = LoadLittle<uint64_t>(bytes.data() + i) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(eight >> (8 * k)) & 0xff];
  }
  for (; i < bytes.size(); ++i) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint32_t>(bytes[i])) & 0xff];
  }
  return ~crc;
}

}  // namespace hagane::io
