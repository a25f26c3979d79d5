#include "io/run_origin.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "io/tensor_file.h"

namespace hagane::io {

using Json = nlohmann::ordered_json;

namespace {

std::string Hex(const XXH128_hash_t& hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

Json ToJson(const RunOrigin& origin) {
  return {{"command", origin.command},
          {"data", origin.data},
          {"start_weights", origin.start_weights},
          {"program_version", origin.program_version},
          {"ranks", origin.ranks}};
}

RunOrigin OriginIn(const Json& manifest) {
  RunOrigin origin;
  const auto found = manifest.find("origin");
  if (found == manifest.end() || !found->is_object()) return origin;
  const auto text = [&](const char* key) {
    const auto value = found->find(key);
    return value != found->end() && value->is_string() ? value->get<std::string>() : std::string();
  };
  origin.command = text("command");
  origin.data = text("data");
  origin.start_weights = text("start_weights");
  origin.program_version = text("program_version");
  const auto ranks = found->find("ranks");
  if (ranks != found->end() && ranks->is_number_integer()) origin.ranks = ranks->get<int>();
  return origin;
}

std::vector<std::string> Differences(const RunOrigin& a, const RunOrigin& b) {
  std::vector<std::string> names;
  const auto compare = [&](const char* name, const std::string& one, const std::string& other) {
    if (!one.empty() && !other.empty() && one != other) names.emplace_back(name);
  };
  compare("command", a.command, b.command);
  compare("training data", a.data, b.data);
  compare("start weights", a.start_weights, b.start_weights);
  return names;
}

std::string FingerprintOf(std::string_view text) {
  return Hex(XXH3_128bits(text.data(), text.size()));
}

std::string FingerprintOfWeights(const std::filesystem::path& model_folder) {
  const std::unique_ptr<TensorFile> file = OpenModelWeights(model_folder);
  // Of each tensor, then of these together: views need not be in the order of the file.
  std::string all;
  for (const auto& [name, view] : file->tensors()) {
    all += fmt::format("{} {} {} {}\n", name, DTypeName(view.dtype), ShapeText(view.shape),
                       Hex(XXH3_128bits(view.bytes.data(), view.bytes.size())));
  }
  return FingerprintOf(all);
}

}  // namespace hagane::io
