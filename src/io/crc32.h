// The checksum of zip entries (CRC-32 of IEEE 802.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hagane::io {

uint32_t Crc32(std::span<const std::byte> bytes);

}  // namespace hagane::io
