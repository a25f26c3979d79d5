#include "io/manifest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/atomic_write.h"
#include "io/json.h"
#include "io/mapped_file.h"

namespace hagane::io {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr JsonLimits kManifestLimits{size_t{1} << 20, 16, 20'000};

std::string Checksum(const void* data, size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(data, size);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// Of the manifest itself: over the text it has without its last entry.
std::string ChecksumOf(const Json& manifest) {
  const std::string text = DumpPython(manifest, 2, /*sort_keys=*/false);
  return Checksum(text.data(), text.size());
}

std::string TextOf(const Json& manifest) {
  return DumpPython(manifest, 2, /*sort_keys=*/false) + "\n";
}

Json DescribeFile(const fs::path& path) {
  const auto file = MappedFile::Open(path);
  return {{"size", file->bytes().size()},
          {"xxh3_128", Checksum(file->bytes().data(), file->bytes().size())}};
}

}  // namespace

void WriteManifest(const fs::path& folder, const Json& fields) {
  HAGANE_CHECK(fields.is_object(), "WriteManifest: fields is no object");
  Json manifest = Json::object();
  manifest["format"] = kFormat;
  manifest.update(fields);
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().filename() != kManifestName) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  Json files = Json::object();
  for (const fs::path& path : paths) files[path.filename().string()] = DescribeFile(path);
  manifest["files"] = std::move(files);
  manifest["checksum"] = ChecksumOf(manifest);
  WriteFileAtomically(folder / kManifestName, TextOf(manifest));
}

bool HasManifest(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kManifestName, ignored);
}

Json ReadManifest(const fs::path& folder) {
  const fs::path path = folder / kManifestName;
  const std::string text = ReadFile(path, kManifestLimits.max_bytes);
  Json manifest = ParseJson(text, path.string(), kManifestLimits);
  const auto damaged = [&](const std::string& why) {
    return Error(fmt::format("{}: {}", path.string(), why), "use an older checkpoint");
  };
  if (!manifest.is_object() || !manifest.contains("checksum"))
    throw damaged("it is not a manifest");
  // Byte for byte what was written: other spellings of the same values are damage too.
  const bool as_written = text == TextOf(manifest);
  const Json checksum = manifest["checksum"];
  manifest.erase("checksum");
  if (!as_written || checksum != ChecksumOf(manifest)) throw damaged("its own checksum is wrong");
  if (!manifest.contains("format") || manifest["format"] != kFormat) {
    throw damaged("it was written by another version of hagane");
  }
  if (!manifest.contains("files") || !manifest["files"].is_object()) {
    throw damaged("it lists no files");
  }
  return manifest;
}

Json VerifyManifest(const fs::path& folder) {
  Json manifest = ReadManifest(folder);
  for (const auto& [name, expected] : manifest["files"].items()) {
    const fs::path path = folder / fs::path(name).filename();
    const Json found = DescribeFile(path);
    if (found == expected) continue;
    const bool same_size =
        expected.is_object() && expected.contains("size") && expected["size"] == found["size"];
    throw Error(fmt::format("{} has {} than when the checkpoint was written", path.string(),
                            same_size ? "other content" : "another size"),
                "the checkpoint is damaged; use an older one");
  }
  return manifest;
}

}  // namespace hagane::io
