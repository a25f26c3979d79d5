// What the steps of a run follow from beside its schedule: written into the manifest of each
// checkpoint, and compared when a run is resumed. Fingerprints are XXH3-128 in hexadecimal.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hagane::io {

struct RunOrigin {
  std::string command;        // the flags that decide what the run computes
  std::string data;           // the training data as the model gets it
  std::string start_weights;  // the weights before the first update
  std::string program_version;
  int ranks = 1;  // both for information: neither keeps a run from being resumed
};

nlohmann::ordered_json ToJson(const RunOrigin& origin);
// From a manifest. What it does not say stays empty: earlier versions wrote none of it.
RunOrigin OriginIn(const nlohmann::ordered_json& manifest);

// Names of what differs: "command", "training data", "start weights". What one of them does not say
// is taken as equal.
std::vector<std::string> Differences(const RunOrigin& a, const RunOrigin& b);

std::string FingerprintOf(std::string_view text);
// Names, types, shapes and values of a model folder's weights: the same in every file format.
std::string FingerprintOfWeights(const std::filesystem::path& model_folder);

}  // namespace hagane::io
