#include "cli/qa_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "io/hub_cache.h"

namespace hagane::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kHint =
    "give the official JSON files instead: --train_file train-v1.1.json --validation_file "
    "dev-v1.1.json (SQuAD 2.0: train-v2.0.json and dev-v2.0.json)";

// JSON files of the folder, in the order of their paths.
std::vector<fs::path> JsonFiles(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if ((extension == ".json" || extension == ".jsonl") && entry.is_regular_file()) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

data::OwnFiles FindQaFiles(const std::string& dataset_name, const std::string& cache_dir) {
  std::optional<fs::path> root;
  if (!cache_dir.empty()) root = cache_dir;
  const auto folder = io::FindInHubCache({io::HubKind::kDataset, dataset_name, "main", root},
                                         io::ProcessEnvironment());
  if (!folder) {
    throw Error(
        fmt::format("--dataset_name {}: there is no such data set in the local hub cache, and "
                    "nothing is downloaded",
                    dataset_name),
        kHint);
  }
  data::OwnFiles files;
  for (const fs::path& file : JsonFiles(*folder)) {
    const std::string name = file.filename().string();
    const auto says = [&](const char* word) { return name.find(word) != name.npos; };
    auto* const target = says("train")                       ? &files.train
                         : says("dev") || says("validation") ? &files.validation
                         : says("test")                      ? &files.test
                                                             : nullptr;
    if (target != nullptr && !*target) *target = file;
  }
  if (!files.train && !files.validation && !files.test) {
    throw Error(fmt::format("{} holds no JSON files of --dataset_name {}; parquet cannot be read "
                            "yet",
                            folder->string(), dataset_name),
                kHint);
  }
  return files;
}

}  // namespace hagane::cli
