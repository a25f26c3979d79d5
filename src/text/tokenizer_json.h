// tokenizer.json: the whole pipeline in one file.
#pragma once

#include <filesystem>

#include "text/tokenizer_spec.h"

namespace hagane::text {

// Fills everything that the file says, `post` included; its truncation and padding are left out,
// since every call has its own. Throws an Error that names the component which is not known.
void ReadTokenizerJson(const std::filesystem::path& path, TokenizerSpec& spec);

}  // namespace hagane::text
