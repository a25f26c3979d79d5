// vocab.txt, and vocab.json with merges.txt.
#pragma once

#include <filesystem>

#include "base/log.h"
#include "text/tokenizer_spec.h"

namespace hagane::text {

// All throw an Error that names the file and, where there is one, the line.
void ReadVocabTxt(const std::filesystem::path& path, Log& log, TokenizerSpec& spec);
void ReadVocabJson(const std::filesystem::path& path, TokenizerSpec& spec);
// The vocabulary comes first.
void ReadMergesTxt(const std::filesystem::path& path, TokenizerSpec& spec);

}  // namespace hagane::text
