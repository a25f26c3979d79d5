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
constexpr uint64_t kVersion = 1;
constexpr char kMagic[8] = {'h', 'a', 'g', 'a', 'n', 'e', 'F', '\n'};

// The file: this header, then the arrays in the order of their sizes here, without gaps.
struct Header {
  char magic[8];
  uint64_t version;
  uint64_t key[2];
  uint64_t content_hash[2];  // of all that follows this field
  uint64_t row_starts, ids, segments, class_labels, float_labels;
  int64_t truncated_rows;
  uint32_t problem, outputs, has_labels, zero;
};
static_assert(sizeof(Header) == 112 && std::is_trivially_copyable_v<Header>);
constexpr size_t kHashedFrom = offsetof(Header, row_starts);

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

// Calls visit(array) for each array in file order.
template <class F, class Visitor>
void ForEachArray(F& features, Visitor&& visit) {
  visit(features.row_start);
  visit(features.ids);
  visit(features.segments);
  visit(features.class_labels);
  visit(features.float_labels);
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

std::optional<Features> Parse(std::span<const std::byte> bytes, const FeatureKey& key) {
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

  Features features;
  features.problem = static_cast<ProblemType>(header.problem);
  features.outputs = static_cast<int>(header.outputs);
  features.has_labels = header.has_labels != 0;
  features.truncated_rows = header.truncated_rows;
  const bool complete = Take(header.row_starts, &bytes, &features.row_start) &&
                        Take(header.ids, &bytes, &features.ids) &&
                        Take(header.segments, &bytes, &features.segments) &&
                        Take(header.class_labels, &bytes, &features.class_labels) &&
                        Take(header.float_labels, &bytes, &features.float_labels) && bytes.empty();
  return complete ? std::optional(std::move(features)) : std::nullopt;
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

std::filesystem::path FeatureFile(const std::filesystem::path& folder, const FeatureKey& key) {
  return folder / fmt::format("features-{:016x}{:016x}.bin", key[0], key[1]);
}

std::optional<Features> LoadFeatures(const std::filesystem::path& file, const FeatureKey& key,
                                     Log& log) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  try {
    std::optional<Features> features = Parse(io::MappedFile::Open(file)->bytes(), key);
    if (!features)
      log.Warning(
          fmt::format("{} is damaged or of another version; it is made anew", file.string()));
    return features;
  } catch (const Error& cause) {
    log.Warning(fmt::format("{}; it is made anew", cause.what()));
    return std::nullopt;
  }
}

void SaveFeatures(const Features& features, const std::filesystem::path& file,
                  const FeatureKey& key, Log& log) {
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.problem = static_cast<uint32_t>(features.problem);
  header.key[0] = key[0];
  header.key[1] = key[1];
  header.row_starts = features.row_start.size();
  header.ids = features.ids.size();
  header.segments = features.segments.size();
  header.class_labels = features.class_labels.size();
  header.float_labels = features.float_labels.size();
  header.truncated_rows = features.truncated_rows;
  header.outputs = static_cast<uint32_t>(features.outputs);
  header.has_labels = features.has_labels ? 1 : 0;

  Hash hash;
  size_t bytes = sizeof(Header);
  hash.Add(reinterpret_cast<const char*>(&header) + kHashedFrom, sizeof(Header) - kHashedFrom);
  ForEachArray(features, [&](const auto& array) {
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
    ForEachArray(features, [&](const auto& array) {
      out.Write(array.data(), array.size() * sizeof(array[0]));
    });
    out.Commit();
  } catch (const std::exception& cause) {
    log.Warning(fmt::format("the features are not kept for the next run: {}", cause.what()));
  }
}

}  // namespace hagane::data
