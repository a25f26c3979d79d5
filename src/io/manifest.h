// hagane_state.json: the file of a checkpoint that is written last and says what the others must
// look like, so that a half-written or bit-rotten checkpoint is recognised.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace hagane::io {

inline constexpr const char* kManifestName = "hagane_state.json";

// Adds "format", then `fields` (step, epoch, seed, global_batch ...; an object), then "files" (size
// and XXH3-128 of every file in the folder) and, last, "checksum" over all before it.
void WriteManifest(const std::filesystem::path& folder, const nlohmann::ordered_json& fields);

bool HasManifest(const std::filesystem::path& folder);

// The manifest alone, held against its own checksum only.
nlohmann::ordered_json ReadManifest(const std::filesystem::path& folder);

// Reads the manifest and holds the folder against it; returns it. Throws an Error that names the
// file that is missing, of another size or of other content.
nlohmann::ordered_json VerifyManifest(const std::filesystem::path& folder);

}  // namespace hagane::io
