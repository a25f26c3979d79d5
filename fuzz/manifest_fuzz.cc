// hagane_state.json of a checkpoint. Its own checksum keeps changes out, so an object that can be
// read gets a right one first: a checkpoint may come from anywhere.
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "fuzz/input.h"
#include "io/checkpoint.h"
#include "io/json.h"
#include "io/manifest.h"
#include "io/run_origin.h"

void hagane::fuzz::Read(std::string_view input) {
  static const Folder output;
  static const std::string folder = [] {
    std::filesystem::create_directory(output.path() / "checkpoint-7");
    output.Write("checkpoint-7/a", "content");
    return "checkpoint-7/";
  }();
  const unsigned choice = TakeByte(input);
  std::string text(input);
  if (choice % 4 != 0) {
    auto manifest = io::ParseJson(input, "input", {size_t{1} << 20, 16, 20'000});
    if (!manifest.is_object()) return;
    manifest.erase("checksum");
    if (choice % 4 == 2) manifest["format"] = 1;
    manifest["checksum"] = io::FingerprintOf(io::DumpPython(manifest, 2, false));
    text = io::DumpPython(manifest, 2, false) + "\n";
  }
  output.Write(folder + io::kManifestName, text);
  NullLog log;
  io::NewestWholeCheckpoint(output.path(), log);
  const auto manifest = io::VerifyManifest(output.path() / "checkpoint-7");
  io::OriginIn(manifest);
}
