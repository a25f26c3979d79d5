// A zip archive as torch.save writes it: stored entries only, both headers of each in agreement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace hagane::io {

class ZipArchive {
 public:
  // Checks the whole structure (docs/formats.md); throws an Error that names `origin` and the
  // entry.
  ZipArchive(std::span<const std::byte> bytes, const std::string& origin);

  // The content, its checksum verified; throws when there is no such entry.
  std::span<const std::byte> Read(std::string_view name) const;
  bool Has(std::string_view name) const { return entries_.find(name) != entries_.end(); }
  // The name of the only entry that ends so: "archive/data.pkl" for "/data.pkl"; empty when there
  // is none or several.
  std::string OnlyNameEndingIn(std::string_view end) const;

 private:
  struct Entry {
    std::span<const std::byte> data;
    uint32_t crc = 0;
  };

  std::string origin_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace hagane::io
