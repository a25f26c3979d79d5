// config.json: its getters, and that it survives being saved.
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "fuzz/input.h"
#include "io/json.h"
#include "io/model_folder.h"

namespace {

// What a getter refuses is fine; the others are to be asked all the same.
template <class Get>
void Ask(Get get) {
  try {
    get();
  } catch (const hagane::Error&) {
  }
}

}  // namespace

void hagane::fuzz::Read(std::string_view input) {
  static const Folder folder;
  const io::ModelConfig config(io::ParseJson(input, "config.json", io::kConfigLimits),
                               "config.json");
  static constexpr std::array<std::string_view, 1> kSupported{"bert"};
  Ask([&] { config.ModelType(kSupported); });
  Ask([&] {
    const int size = config.RequireInt("hidden_size", 1, 65536);
    Require(size >= 1 && size <= 65536);
  });
  Ask([&] { config.GetNumber("layer_norm_eps", 1e-12); });
  Ask([&] { config.GetBool("is_decoder", false); });
  Ask([&] { config.GetString("hidden_act", "gelu"); });
  Ask([&] {
    const auto labels = config.Labels();
    Require(labels.empty() || labels.size() == config.raw()["id2label"].size());
  });
  io::WriteModelConfig(folder.path(), config.raw());
  const auto saved = io::ModelConfig::Read(folder.path());
  Require(saved.raw().size() == config.raw().size());
}
