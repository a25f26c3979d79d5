// The weights of a model folder: one file, or shards named by an index.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/error.h"
#include "io/formats.h"
#include "io/json.h"
#include "io/printable.h"

namespace hagane::io {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSafetensors = "model.safetensors";
constexpr std::string_view kSafetensorsIndex = "model.safetensors.index.json";
constexpr std::string_view kTorchBin = "pytorch_model.bin";
constexpr std::string_view kTorchBinIndex = "pytorch_model.bin.index.json";

// The folder that links of a shard may not leave: the hub cache's repository
// (models--org--name/snapshots/commit/file -> ../../blobs/...), else the model folder itself.
fs::path RepositoryOf(const fs::path& folder) {
  const fs::path snapshots = folder.parent_path(), repository = snapshots.parent_path();
  const bool in_hub_cache =
      snapshots.filename() == "snapshots" && repository.filename().string().starts_with("models--");
  return in_hub_cache ? repository : folder;
}

bool IsInside(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

// `name` comes from a file that somebody else wrote.
std::shared_ptr<const MappedFile> OpenShard(const fs::path& folder, const std::string& name,
                                            const fs::path& index) {
  const auto refuse = [&](const char* why) {
    return Error(fmt::format("{} names the shard \"{}\", {}", index.string(), Printable(name), why),
                 "use the files as the model's page has them");
  };
  if (name.empty() || name.find('/') != name.npos || name.find('\0') != name.npos || name == "." ||
      name == "..") {
    throw refuse("which is not the name of a file beside it");
  }
  std::error_code error;
  const fs::path home = fs::canonical(folder, error);
  if (error) throw Error(fmt::format("cannot open {}: {}", folder.string(), error.message()));
  const fs::path real = fs::canonical(home / name, error);
  if (error) {
    throw Error(fmt::format("{} names the shard {}, which cannot be opened: {}", index.string(),
                            Printable(name), error.message()),
                "the model is incomplete; fetch it again");
  }
  if (!IsInside(real, RepositoryOf(home)))
    throw refuse("which is a link out of the model's folder");
  return MappedFile::Open(real, Links::kRefuse);  // resolved: another link now would be a trick
}

class ShardedWeights : public TensorFile {
 public:
  using OpenFile = std::unique_ptr<TensorFile> (*)(std::shared_ptr<const MappedFile>,
                                                   const std::string&);

  ShardedWeights(const fs::path& folder, std::string_view index_name, OpenFile open) {
    const fs::path index = folder / index_name;
    origin_ = index.string();
    const auto json = ReadJsonFile(index, kIndexLimits);
    const auto map = json.is_object() ? json.find("weight_map") : json.end();
    if (!json.is_object() || map == json.end() || !map->is_object()) {
      throw Error(fmt::format("{} has no weight_map", origin_));
    }
    std::map<std::string, std::set<std::string>> names_by_shard;
    for (const auto& [tensor, shard] : map->items()) {
      if (!shard.is_string()) {
        throw Error(fmt::format("{}: the shard of {} is no text", origin_, Printable(tensor)));
      }
      names_by_shard[shard.get_ref<const std::string&>()].insert(tensor);
    }
    for (const auto& [shard, names] : names_by_shard) {
      auto file = open(OpenShard(folder, shard, index), (folder / shard).string());
      for (const std::string& name : names) {
        const TensorView* view = file->Find(name);
        if (view == nullptr) {
          throw Error(fmt::format("{} does not hold {}, which {} says it does", file->origin(),
                                  Printable(name), origin_),
                      "the model is incomplete; fetch it again");
        }
        tensors_.emplace(name, *view);
      }
      metadata_.insert(file->metadata().begin(), file->metadata().end());
      shards_.push_back(std::move(file));
    }
  }

 private:
  std::vector<std::unique_ptr<TensorFile>> shards_;
};

}  // namespace

std::unique_ptr<TensorFile> OpenModelWeights(const fs::path& folder) {
  const auto is_there = [&](std::string_view name) {
    std::error_code ignored;
    return fs::exists(folder / name, ignored);
  };
  if (is_there(kSafetensors)) return OpenSafetensors(folder / kSafetensors);
  if (is_there(kSafetensorsIndex)) {
    return std::make_unique<ShardedWeights>(folder, kSafetensorsIndex, OpenMappedSafetensors);
  }
  if (is_there(kTorchBin)) return OpenTorchBin(folder / kTorchBin);
  if (is_there(kTorchBinIndex)) {
    return std::make_unique<ShardedWeights>(folder, kTorchBinIndex, OpenMappedTorchBin);
  }

  std::string hint = "a model folder holds config.json, the weights and the tokenizer's files";
  for (const char* other : {"tf_model.h5", "flax_model.msgpack"}) {
    if (is_there(other)) {
      hint = fmt::format(
          "{} is another framework's; load it with transformers and save_pretrained()", other);
    }
  }
  throw Error(fmt::format("{} holds no weights: none of {}, {}, {}, {} is there", folder.string(),
                          kSafetensors, kSafetensorsIndex, kTorchBin, kTorchBinIndex),
              hint);
}

}  // namespace hagane::io
