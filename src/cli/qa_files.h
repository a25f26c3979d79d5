// The JSON files of a question-answering data set in the hub cache.
#pragma once

#include <string>

#include "data/text_dataset.h"

namespace hagane::cli {

// Files whose names say train, dev or validation, and test. Throws an Error that says what to do
// when there is no such data set, or none of its files is JSON.
data::OwnFiles FindQaFiles(const std::string& dataset_name, const std::string& cache_dir);

}  // namespace hagane::cli
