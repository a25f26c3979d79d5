// Models and data sets in the folder where the Hugging Face libraries keep their downloads. Only
// looked up, never changed; nothing is fetched.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hagane::io {

// The environment is passed in, so that a test (or a staged rank) has its own.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment ProcessEnvironment();

enum class HubKind { kModel, kDataset };

struct HubLookup {
  HubKind kind = HubKind::kModel;
  std::string id;                                  // "org/name", or "name" for the oldest models
  std::string revision = "main";                   // branch, tag or commit; empty: main
  std::optional<std::filesystem::path> cache_dir;  // instead of all that the environment says
};

// The cache folders in the order they are tried: cache_dir alone when given; else
// TRANSFORMERS_CACHE and its older names where set, then HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE,
// HF_HOME/hub or XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub, whichever is the first
// set.
std::vector<std::filesystem::path> HubCacheFolders(
    const std::optional<std::filesystem::path>& cache_dir, const Environment& environment);

// "org/name" or "name", of the characters that the Hub allows.
bool LooksLikeHubId(const std::string& text);

// The snapshot folder. An id that the Hub has moved (bert-base-uncased,
// google-bert/bert-base-uncased) is looked for under both names.
std::optional<std::filesystem::path> FindInHubCache(const HubLookup& lookup,
                                                    const Environment& environment);

// A folder as it is, else a model id from the hub cache. The Error says where was looked and how to
// get the model.
std::filesystem::path ResolveModel(const std::string& name_or_path, const std::string& revision,
                                   const std::optional<std::filesystem::path>& cache_dir,
                                   const Environment& environment);

}  // namespace hagane::io
