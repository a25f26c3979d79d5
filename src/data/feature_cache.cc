#include "data/feature_cache.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

#include "base/error.h"
#include "io/mapped_file.h"
#include "io/new_file.h"

namespace hagane::data {
namespace {

// Raise it when tokenising or the layout changes its meaning: older files are then made anew.
constexpr uint64_t kVersion = 2;
constexpr char kMagic[8] = {'h', 'a', 'g', 'a', 'n', 'e', 'F', '\n'};

// Row starts, ids, segments, class, float, start and end labels; of windows also examples, offsets.
constexpr size_t kArrays = 9;

// The file: this header, then the arrays in the order of their sizes here, without gaps.
struct Header {
  char magic[8];
  uint64_t version;
  uint64_t key[2];
  uint64_t content_hash[2];  // of all that follows this field
  uint64_t sizes[kArrays];   // in elements
  int64_t truncated_rows;
  uint32_t problem, outputs, has_labels, zero;
};
static_assert(sizeof(Header) == 144 && std::is_trivially_copyable_v<Header>);
constexpr size_t kHashedFrom = offsetof(Header, sizes);

class Hash {
 public:
  Hash() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }
  void Add(const void* data, size_t size) { XXH3_128bits_update(state_.get(), data, size); }
  template <class T>
  void AddValue(T value) {
    Add(&value, sizeof(value));
  }
  void AddText(std::string_view text) {  // with its length: "ab","c" differs from "a","bc"
    AddValue(static_cast<uint64_t>(text.size()));
    Add(text.data(), text.size());
  }
  template <class T>
  void AddArray(const std::vector<T>& array) {
    AddValue(static_cast<uint64_t>(array.size()));
    Add(array.data(), array.size() * sizeof(T));
  }
  FeatureKey Digest() const {
    const XXH128_hash_t digest = XXH3_128bits_digest(state_.get());
    return {digest.high64, digest.low64};
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

Features& FeaturesOf(Features& features) { return features; }
const Features& FeaturesOf(const Features& features) { return features; }
Features& FeaturesOf(QaWindows& windows) { return windows.features; }
const Features& FeaturesOf(const QaWindows& windows) { return windows.features; }

// Calls visit(array) for each array of Features or QaWindows, in file order.
template <class T, class Visitor>
void ForEachArray(T& content, Visitor&& visit) {
  auto& features = FeaturesOf(content);
  visit(features.row_start);
  visit(features.ids);
  visit(features.segments);
  visit(features.class_labels);
  visit(features.float_labels);
  visit(features.start_labels);
  visit(features.end_labels);
  if constexpr (std::is_same_v<std::remove_const_t<T>, QaWindows>) {
    visit(content.example);
    visit(content.offsets);
  }
}

FeatureKey ContentHash(const Header& header, std::span<const std::byte> arrays) {
  Hash hash;
  hash.Add(reinterpret_cast<const char*>(&header) + kHashedFrom, sizeof(Header) - kHashedFrom);
  hash.Add(arrays.data(), arrays.size());
  return hash.Digest();
}

// Fills `array` from the front of `bytes` and takes it off; false where there is too little.
template <class T>
bool Take(uint64_t count, std::span<const std::byte>* bytes, std::vector<T>* array) {
  if (count > bytes->size() / sizeof(T)) return false;
  array->resize(count);
  if (count > 0) std::memcpy(array->data(), bytes->data(), count * sizeof(T));
  *bytes = bytes->subspan(count * sizeof(T));
  return true;
}

template <class T>
std::optional<T> Parse(std::span<const std::byte> bytes, const FeatureKey& key) {
  Header header;
  if (bytes.size() < sizeof(Header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(Header));
  bytes = bytes.subspan(sizeof(Header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.version != kVersion ||
      header.key[0] != key[0] || header.key[1] != key[1]) {
    return std::nullopt;
  }
  const FeatureKey hash = ContentHash(header, bytes);
  if (header.content_hash[0] != hash[0] || header.content_hash[1] != hash[1]) return std::nullopt;

  T content;
  Features& features = FeaturesOf(content);
  features.problem = static_cast<ProblemType>(header.problem);
  features.outputs = static_cast<int>(header.outputs);
  features.has_labels = header.has_labels != 0;
  features.truncated_rows = header.truncated_rows;
  bool complete = true;
  size_t number = 0;
  ForEachArray(content, [&](auto& array) {
    complete = complete && Take(header.sizes[number++], &bytes, &array);
  });
  return complete && bytes.empty() ? std::optional(std::move(content)) : std::nullopt;
}

template <class T>
std::optional<T> Load(const std::filesystem::path& file, const FeatureKey& key, Log& log) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  try {
    std::optional<T> content = Parse<T>(io::MappedFile::Open(file)->bytes(), key);
    if (!content)
      log.Warning(
          fmt::format("{} is damaged or of another version; it is made anew", file.string()));
    return content;
  } catch (const Error& cause) {
    log.Warning(fmt::format("{}; it is made anew", cause.what()));
    return std::nullopt;
  }
}

template <class T>
void Save(const T& content, const std::filesystem::path& file, const FeatureKey& key, Log& log) {
  const Features& features = FeaturesOf(content);
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.problem = static_cast<uint32_t>(features.problem);
  header.key[0] = key[0];
  header.key[1] = key[1];
  header.truncated_rows = features.truncated_rows;
  header.outputs = static_cast<uint32_t>(features.outputs);
  header.has_labels = features.has_labels ? 1 : 0;
  size_t number = 0;
  ForEachArray(content, [&](const auto& array) { header.sizes[number++] = array.size(); });

  Hash hash;
  size_t bytes = sizeof(Header);
  hash.Add(reinterpret_cast<const char*>(&header) + kHashedFrom, sizeof(Header) - kHashedFrom);
  ForEachArray(content, [&](const auto& array) {
    const size_t size = array.size() * sizeof(array[0]);
    hash.Add(array.data(), size);
    bytes += size;
  });
  const FeatureKey digest = hash.Digest();
  header.content_hash[0] = digest[0];
  header.content_hash[1] = digest[1];
  try {
    std::filesystem::create_directories(file.parent_path());
    io::NewFile out(file);
    out.Reserve(bytes);
    out.Write(&header, sizeof(header));
    ForEachArray(content, [&](const auto& array) {
      out.Write(array.data(), array.size() * sizeof(array[0]));
    });
    out.Commit();
  } catch (const std::exception& cause) {
    log.Warning(fmt::format("the features are not kept for the next run: {}", cause.what()));
  }
}

}  // namespace

FeatureKey KeyOfFeatures(const TextSplit& split, const LabelSpec& labels,
                         const std::string& tokenizer_fingerprint, bool token_types,
                         int max_length) {
  Hash hash;
  hash.AddValue(kVersion);
  hash.AddText(tokenizer_fingerprint);
  hash.AddValue(static_cast<uint32_t>(token_types));
  hash.AddValue(static_cast<int32_t>(max_length));
  hash.AddValue(static_cast<uint32_t>(labels.problem));
  hash.AddValue(static_cast<int32_t>(labels.outputs));
  hash.AddValue(static_cast<uint32_t>(split.has_labels));
  hash.AddArray(split.class_labels);
  hash.AddArray(split.float_labels);
  for (const auto* texts : {&split.text_a, &split.text_b}) {
    hash.AddValue(static_cast<uint64_t>(texts->size()));
    for (const std::string& text : *texts) hash.AddText(text);
  }
  return hash.Digest();
}

FeatureKey KeyOfWindows(const QaDataset& dataset, const std::string& tokenizer_fingerprint,
                        bool token_types, const QaWindowOptions& options) {
  Hash hash;
  hash.AddText("windows");
  hash.AddValue(kVersion);
  hash.AddText(tokenizer_fingerprint);
  hash.AddValue(static_cast<uint32_t>(token_types));
  hash.AddValue(static_cast<int32_t>(options.max_length));
  hash.AddValue(static_cast<int32_t>(options.doc_stride));
  hash.AddValue(static_cast<uint32_t>(options.labels));
  hash.AddValue(static_cast<uint64_t>(dataset.contexts.size()));
  for (const std::string& context : dataset.contexts) hash.AddText(context);
  for (const QaExample& example : dataset.examples) {
    hash.AddText(example.question);
    hash.AddValue(example.context);
    if (!options.labels) continue;
    hash.AddValue(static_cast<uint32_t>(example.target));
    hash.AddValue(example.target_begin);
    hash.AddValue(example.target_end);
  }
  return hash.Digest();
}

std::string FingerprintOf(const Features& features) {
  Hash hash;
  hash.AddValue(static_cast<uint32_t>(features.problem));
  hash.AddValue(static_cast<uint32_t>(features.outputs));
  ForEachArray(features, [&](const auto& array) { hash.AddArray(array); });
  const FeatureKey digest = hash.Digest();
  return fmt::format("{:016x}{:016x}", digest[0], digest[1]);
}

std::filesystem::path FeatureFile(const std::filesystem::path& folder, const FeatureKey& key) {
  return folder / fmt::format("features-{:016x}{:016x}.bin", key[0], key[1]);
}

std::optional<Features> LoadFeatures(const std::filesystem::path& file, const FeatureKey& key,
                                     Log& log) {
  return Load<Features>(file, key, log);
}

std::optional<QaWindows> LoadWindows(const std::filesystem::path& file, const FeatureKey& key,
                                     Log& log) {
  return Load<QaWindows>(file, key, log);
}

void SaveFeatures(const Features& features, const std::filesystem::path& file,
                  const FeatureKey& key, Log& log) {
  Save(features, file, key, log);
}

void SaveWindows(const QaWindows& windows, const std::filesystem::path& file, const FeatureKey& key,
                 Log& log) {
  Save(windows, file, key, log);
}

}  // namespace hagane::data
