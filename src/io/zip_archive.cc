#include "io/zip_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "io/bytes.h"
#include "io/crc32.h"
#include "io/printable.h"

namespace hagane::io {
namespace {

constexpr size_t kMostEntries = size_t{1} << 17;
constexpr uint16_t kSizesBehindData = 1 << 3;  // flag: CRC and sizes follow the data
constexpr uint16_t kUtf8Names = 1 << 11;
constexpr uint32_t kIn64BitField = 0xffffffffu;

// Bounds-checked reading at absolute offsets.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& origin)
      : bytes_(bytes), origin_(origin) {}

  [[noreturn]] void Fail(const std::string& why) const {
    throw Error(fmt::format("{} is not a whole PyTorch zip file: {}", origin_, why),
                "the file is damaged or incomplete, or was not made by torch.save; fetch it again");
  }
  std::span<const std::byte> Range(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) Fail("it ends too early");
    return bytes_.subspan(offset, size);
  }
  template <class T>
  T At(uint64_t offset) const {
    return LoadLittle<T>(Range(offset, sizeof(T)).data());
  }
  std::string_view Text(uint64_t offset, uint64_t size) const {
    const auto range = Range(offset, size);
    return {reinterpret_cast<const char*>(range.data()), range.size()};
  }
  bool Signature(uint64_t offset, uint32_t signature) const {
    return offset <= bytes_.size() && bytes_.size() - offset >= 4 &&
           At<uint32_t>(offset) == signature;
  }
  uint64_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::string origin_;
};

struct Directory {
  uint64_t begin = 0, end = 0, entries = 0;
};

// The end record must be the last 22 bytes, so there is one reading of the file only.
Directory FindDirectory(const Reader& in) {
  if (in.size() < 22 || !in.Signature(in.size() - 22, 0x06054b50)) in.Fail("its end is missing");
  const uint64_t end_record = in.size() - 22;
  Directory directory;
  uint64_t size = 0;
  const bool has_64 = end_record >= 76 && in.Signature(end_record - 20, 0x07064b50);
  if (has_64) {
    const uint64_t record = end_record - 76;  // fixed size: no extensions
    if (in.At<uint64_t>(end_record - 12) != record || !in.Signature(record, 0x06064b50) ||
        in.At<uint64_t>(record + 4) != 44) {
      in.Fail("its 64-bit end record is damaged");
    }
    directory.entries = in.At<uint64_t>(record + 32);
    size = in.At<uint64_t>(record + 40);
    directory.begin = in.At<uint64_t>(record + 48);
    directory.end = record;
  } else {
    directory.entries = in.At<uint16_t>(end_record + 10);
    size = in.At<uint32_t>(end_record + 12);
    directory.begin = in.At<uint32_t>(end_record + 16);
    directory.end = end_record;
  }
  if (in.At<uint16_t>(end_record + 20) != 0) in.Fail("it has a comment");
  if (directory.begin > directory.end || directory.end - directory.begin != size) {
    in.Fail("its directory is damaged");
  }
  if (directory.entries > kMostEntries) in.Fail("too many entries");
  return directory;
}

struct Header {
  uint16_t flags = 0;
  uint32_t crc = 0;
  uint64_t compressed = 0, size = 0, local_offset = 0;
  std::string_view name;
};

// Sizes of 4 GB and more stand in extra field 1, in this order, where the plain field is all ones.
void Read64BitFields(const Reader& in, uint64_t offset, uint64_t length,
                     std::initializer_list<uint64_t*> fields) {
  const uint64_t end = offset + length;
  while (end - offset >= 4) {
    const uint16_t id = in.At<uint16_t>(offset), size = in.At<uint16_t>(offset + 2);
    offset += 4;
    if (size > end - offset) in.Fail("an extra field is damaged");
    if (id == 1) {
      uint64_t at = offset;
      for (uint64_t* field : fields) {
        if (*field != kIn64BitField) continue;
        if (offset + size - at < 8) in.Fail("an extra field is damaged");
        *field = in.At<uint64_t>(at);
        at += 8;
      }
      return;
    }
    offset += size;
  }
}

void CheckMethodAndFlags(const Reader& in, std::string_view name, uint16_t method, uint16_t flags) {
  if (method != 0) in.Fail(fmt::format("entry {} is compressed", Printable(name)));
  if ((flags & ~(kSizesBehindData | kUtf8Names)) != 0) {
    in.Fail(fmt::format("entry {} has flags {:#x}", Printable(name), flags));
  }
}

// One record of the directory; `offset` moves to the next.
Header ReadCentral(const Reader& in, uint64_t& offset, uint64_t directory_end) {
  if (!in.Signature(offset, 0x02014b50)) in.Fail("its directory is damaged");
  Header header;
  header.flags = in.At<uint16_t>(offset + 8);
  const auto method = in.At<uint16_t>(offset + 10);
  header.crc = in.At<uint32_t>(offset + 16);
  header.compressed = in.At<uint32_t>(offset + 20);
  header.size = in.At<uint32_t>(offset + 24);
  const uint64_t name_length = in.At<uint16_t>(offset + 28);
  const uint64_t extra_length = in.At<uint16_t>(offset + 30);
  const uint64_t comment_length = in.At<uint16_t>(offset + 32);
  header.local_offset = in.At<uint32_t>(offset + 42);
  header.name = in.Text(offset + 46, name_length);
  Read64BitFields(in, offset + 46 + name_length, extra_length,
                  {&header.size, &header.compressed, &header.local_offset});
  offset += 46 + name_length + extra_length + comment_length;
  if (offset > directory_end) in.Fail("its directory is damaged");
  if (header.name.empty()) in.Fail("an entry without a name");
  CheckMethodAndFlags(in, header.name, method, header.flags);
  if (header.compressed != header.size) {
    in.Fail(fmt::format("entry {} has two sizes", Printable(header.name)));
  }
  return header;
}

// Checks the local header against the directory's record; returns where the data begins.
uint64_t CheckLocal(const Reader& in, const Header& central) {
  const uint64_t offset = central.local_offset;
  const auto fail = [&](const char* what) {
    in.Fail(
        fmt::format("entry {}: {} differs between its two headers", Printable(central.name), what));
  };
  if (!in.Signature(offset, 0x04034b50)) fail("the place");
  const uint64_t name_length = in.At<uint16_t>(offset + 26);
  const uint64_t extra_length = in.At<uint16_t>(offset + 28);
  if (in.Text(offset + 30, name_length) != central.name) fail("the name");
  const auto flags = in.At<uint16_t>(offset + 6);
  if (flags != central.flags) fail("the flags");
  CheckMethodAndFlags(in, central.name, in.At<uint16_t>(offset + 8), flags);
  const auto crc = in.At<uint32_t>(offset + 14);
  uint64_t compressed = in.At<uint32_t>(offset + 18), size = in.At<uint32_t>(offset + 22);
  Read64BitFields(in, offset + 30 + name_length, extra_length, {&size, &compressed});
  const bool may_be_zero = (flags & kSizesBehindData) != 0;
  const auto agrees = [&](uint64_t local, uint64_t in_directory) {
    return local == in_directory || (may_be_zero && local == 0);
  };
  if (!agrees(crc, central.crc)) fail("the checksum");
  if (!agrees(size, central.size) || !agrees(compressed, central.size)) fail("the size");
  return offset + 30 + name_length + extra_length;
}

}  // namespace

ZipArchive::ZipArchive(std::span<const std::byte> bytes, const std::string& origin)
    : origin_(origin) {
  const Reader in(bytes, origin);
  const Directory directory = FindDirectory(in);
  struct Extent {
    uint64_t begin, end;  // local header and data
  };
  std::vector<Extent> extents;
  uint64_t offset = directory.begin;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    const Header central = ReadCentral(in, offset, directory.end);
    const uint64_t data = CheckLocal(in, central);
    const Entry entry{in.Range(data, central.size), central.crc};
    if (!entries_.emplace(central.name, entry).second) {
      in.Fail(fmt::format("entry {} is there twice", Printable(central.name)));
    }
    extents.push_back({central.local_offset, data + central.size});
  }
  if (offset != directory.end) in.Fail("its directory is damaged");

  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  extents.push_back({directory.begin, directory.end});
  for (size_t i = 1; i < extents.size(); ++i) {
    if (extents[i - 1].end > extents[i].begin) in.Fail("entries overlap");
  }
}

std::span<const std::byte> ZipArchive::Read(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw Error(fmt::format("{}: entry {} is missing", origin_, Printable(name)),
                "the file is damaged or incomplete; fetch it again");
  }
  if (Crc32(found->second.data) != found->second.crc) {
    throw Error(fmt::format("{}: the checksum of entry {} is wrong", origin_, Printable(name)),
                "the file is damaged; fetch it again");
  }
  return found->second.data;
}

std::string ZipArchive::OnlyNameEndingIn(std::string_view end) const {
  std::string only;
  for (const auto& [name, entry] : entries_) {
    if (!std::string_view(name).ends_with(end)) continue;
    if (!only.empty()) return "";
    only = name;
  }
  return only;
}

}  // namespace hagane::io
