// model.safetensors.index.json beside two shards, a link out of the folder and a folder: only
// tensors of the shards are granted.
#include "fuzz/input.h"
#include "io/tensor_file.h"

namespace {

// The shards hold tensors a and b of one byte each, 'A' and 'B'; what lies outside holds 'X'.
std::string Shard(const std::string& name, char value) {
  const std::string header =
      "{\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}";
  return std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + value;
}

const hagane::fuzz::Folder& ModelFolder() {
  static const hagane::fuzz::Folder outside, folder;
  static const bool made = [] {
    folder.Write("a.safetensors", Shard("a", 'A'));
    folder.Write("b.safetensors", Shard("b", 'B'));
    std::filesystem::create_symlink(outside.Write("x", Shard("a", 'X')), folder.path() / "x");
    std::filesystem::create_symlink("a.safetensors", folder.path() / "l");
    std::filesystem::create_directory(folder.path() / "d");
    return true;
  }();
  (void)made;
  return folder;
}

}  // namespace

void hagane::fuzz::Read(std::string_view input) {
  const Folder& folder = ModelFolder();
  folder.Write("model.safetensors.index.json", input);
  const auto tensors = io::OpenModelWeights(folder.path());
  for (const auto& [name, tensor] : tensors->tensors()) {
    Require(name == "a" || name == "b");
    Require(tensor.bytes.size() == 1);
    Require(tensor.bytes[0] == static_cast<std::byte>(name == "a" ? 'A' : 'B'));
  }
}
