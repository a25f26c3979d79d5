#include "io/hub_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "io/atomic_write.h"
#include "io/printable.h"

namespace hagane::io {
namespace fs = std::filesystem;
namespace {

// Where the Hub moved the ids that once had no organisation.
struct MovedId {
  HubKind kind;
  std::string_view start;  // of the old id
  std::string_view organisation;
};
constexpr MovedId kMovedIds[] = {
    {HubKind::kModel, "bert-base-", "google-bert"},
    {HubKind::kModel, "bert-large-", "google-bert"},
    {HubKind::kModel, "distilbert-base-", "distilbert"},
    {HubKind::kModel, "distilroberta-base", "distilbert"},
    {HubKind::kModel, "roberta-base", "FacebookAI"},
    {HubKind::kModel, "roberta-large", "FacebookAI"},
    {HubKind::kModel, "xlm-roberta-", "FacebookAI"},
    {HubKind::kModel, "albert-", "albert"},
    {HubKind::kDataset, "glue", "nyu-mll"},
    {HubKind::kDataset, "squad", "rajpurkar"},
};

// The id as given first, then its other name if it has one.
std::vector<std::string> NamesOf(HubKind kind, const std::string& id) {
  std::vector<std::string> names{id};
  const size_t slash = id.find('/');
  const std::string name = slash == id.npos ? id : id.substr(slash + 1);
  for (const MovedId& moved : kMovedIds) {
    if (moved.kind != kind || !name.starts_with(moved.start)) continue;
    const std::string with_organisation = fmt::format("{}/{}", moved.organisation, name);
    if (slash == id.npos) {
      names.push_back(with_organisation);
    } else if (id == with_organisation) {
      names.push_back(name);
    }
    break;
  }
  return names;
}

std::string FolderName(HubKind kind, const std::string& id) {
  std::string name = kind == HubKind::kModel ? "models" : "datasets";
  name += "--";
  for (const char c : id) {
    if (c == '/') {
      name += "--";
    } else {
      name += c;
    }
  }
  return name;
}

bool IsCommit(const std::string& text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// "main", "v1.0", "refs/pr/3": relative and without "..".
bool IsSafeRevision(const std::string& revision) {
  const fs::path path(revision);
  return path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end();
}

std::optional<fs::path> Snapshot(const fs::path& repository, const std::string& revision) {
  std::error_code ignored;
  std::string commit = revision;
  if (!IsCommit(revision)) {
    const fs::path ref = repository / "refs" / revision;
    if (!IsSafeRevision(revision) || !fs::is_regular_file(ref, ignored)) return std::nullopt;
    commit = ReadFile(ref, 1024);
    commit.erase(commit.find_last_not_of(" \r\n") + 1);
    if (!IsCommit(commit)) return std::nullopt;
  }
  fs::path snapshot = repository / "snapshots" / commit;
  if (!fs::is_directory(snapshot, ignored)) return std::nullopt;
  return snapshot;
}

std::optional<std::string> NonEmpty(const Environment& environment, const char* name) {
  auto value = environment(name);
  if (value && value->empty()) value.reset();
  return value;
}

fs::path ExpandHome(const std::string& path, const Environment& environment) {
  if (path == "~" || path.starts_with("~/")) {
    if (const auto home = NonEmpty(environment, "HOME")) return *home + path.substr(1);
  }
  return path;
}

}  // namespace

Environment ProcessEnvironment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

std::vector<fs::path> HubCacheFolders(const std::optional<fs::path>& cache_dir,
                                      const Environment& environment) {
  if (cache_dir) return {ExpandHome(cache_dir->string(), environment)};
  std::vector<fs::path> folders;
  const auto first_set = [&](std::initializer_list<const char*> names) -> std::optional<fs::path> {
    for (const char* name : names) {
      if (const auto value = NonEmpty(environment, name)) return ExpandHome(*value, environment);
    }
    return std::nullopt;
  };
  if (const auto folder = first_set(
          {"TRANSFORMERS_CACHE", "PYTORCH_TRANSFORMERS_CACHE", "PYTORCH_PRETRAINED_BERT_CACHE"})) {
    folders.push_back(*folder);
  }
  if (const auto folder = first_set({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})) {
    folders.push_back(*folder);
  } else if (const auto home = first_set({"HF_HOME"})) {
    folders.push_back(*home / "hub");
  } else if (const auto cache = first_set({"XDG_CACHE_HOME"})) {
    folders.push_back(*cache / "huggingface" / "hub");
  } else if (const auto user = first_set({"HOME"})) {
    folders.push_back(*user / ".cache" / "huggingface" / "hub");
  }
  return folders;
}

bool LooksLikeHubId(const std::string& text) {
  const auto is_part = [](std::string_view part) {
    const auto allowed = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
             c == '-' || c == '_' || c == '.';
    };
    return !part.empty() && part.size() <= 96 && part.front() != '.' && part.front() != '-' &&
           std::all_of(part.begin(), part.end(), allowed);
  };
  const std::string_view view(text);
  const size_t slash = view.find('/');
  if (slash == view.npos) return is_part(view);
  return is_part(view.substr(0, slash)) && is_part(view.substr(slash + 1));
}

std::optional<fs::path> FindInHubCache(const HubLookup& lookup, const Environment& environment) {
  if (!LooksLikeHubId(lookup.id)) return std::nullopt;
  const std::string revision = lookup.revision.empty() ? "main" : lookup.revision;
  for (const fs::path& folder : HubCacheFolders(lookup.cache_dir, environment)) {
    for (const std::string& name : NamesOf(lookup.kind, lookup.id)) {
      if (auto snapshot = Snapshot(folder / FolderName(lookup.kind, name), revision)) {
        return snapshot;
      }
    }
  }
  return std::nullopt;
}

fs::path ResolveModel(const std::string& name_or_path, const std::string& revision,
                      const std::optional<fs::path>& cache_dir, const Environment& environment) {
  const fs::path path = ExpandHome(name_or_path, environment);
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return path;
  if (fs::exists(path, ignored)) {
    throw Error(fmt::format("{} is a file; a model folder or a model id is needed", path.string()),
                "give the folder that holds config.json");
  }
  if (!LooksLikeHubId(name_or_path)) {
    throw Error(fmt::format("the model folder {} does not exist", Printable(path.string())),
                "give a folder that holds config.json, or a model id such as "
                "distilbert/distilbert-base-uncased");
  }
  if (auto found =
          FindInHubCache({HubKind::kModel, name_or_path, revision, cache_dir}, environment)) {
    return *found;
  }
  std::vector<std::string> looked;
  for (const fs::path& folder : HubCacheFolders(cache_dir, environment)) {
    for (const std::string& name : NamesOf(HubKind::kModel, name_or_path)) {
      looked.push_back((folder / FolderName(HubKind::kModel, name)).string());
    }
  }
  const bool main = revision.empty() || revision == "main";
  throw Error(
      fmt::format("the model {}{} is neither a folder nor in the hub cache (looked for {})",
                  name_or_path, main ? "" : fmt::format(" (revision {})", Printable(revision)),
                  fmt::join(looked, ", ")),
      fmt::format("on a machine with network run `huggingface-cli download {}{} --local-dir model` "
                  "and give that folder here",
                  name_or_path, main ? "" : " --revision " + Printable(revision)));
}

}  // namespace hagane::io
