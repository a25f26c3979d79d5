// Finding what a run reads: model and tokenizer folders, the cache of tokenised data.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/log.h"
#include "cli/run_arguments.h"
#include "data/features.h"
#include "nn/encoder_config.h"
#include "nn/model.h"
#include "text/tokenizer.h"

namespace hagane::cli {

// `name_or_path` of the arguments or of one of its replacements.
std::filesystem::path ResolveModelFolder(const ModelSource& source,
                                         const std::string& name_or_path);

// --max_seq_length, cut to what tokenizer and position table allow, with the reference's warning.
int ClampMaxLength(int asked, const text::Tokenizer& tokenizer, const nn::EncoderConfig& encoder,
                   Log& log);

// HAGANE_CACHE: a folder, or "off"; else XDG_CACHE_HOME/hagane or ~/.cache/hagane; none without a
// home.
std::optional<std::filesystem::path> FeatureCacheFolder();

// Every token id must have a row in the model's tables. Throws an Error.
void CheckIds(const data::Features& features, const nn::EncoderConfig& encoder,
              const std::string& config_origin);

// The two lists of the reference: weights that were not used, and weights that are new.
void SayWhatWasLoaded(const nn::LoadReport& report, const std::string& architecture,
                      const std::string& model_name, Log& log);

}  // namespace hagane::cli
