#include "data/feature_cache.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
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

// Rows and tokens, whatever the labels.
bool AreSound(const Features& features, const text::Tokenizer& tokenizer, int max_length) {
  const auto& starts = features.row_start;
  if (starts.empty() || starts.front() != 0 || starts.back() != features.tokens()) return false;
  // A template that is longer than max_length is not cut.
  const int64_t longest = std::max(max_length, tokenizer.special_tokens(true));
  for (size_t row = 1; row < starts.size(); ++row) {
    // Compared without a difference, which might overflow.
    if (starts[row] <= starts[row - 1] || starts[row] > features.tokens()) return false;
    if (max_length > 0 && starts[row] - starts[row - 1] > longest) return false;
  }
  const auto is_id = [&](int32_t id) { return id >= 0 && id < tokenizer.vocab_size(); };
  const size_t segments = tokenizer.returns_token_types() ? features.ids.size() : 0;
  return std::all_of(features.ids.begin(), features.ids.end(), is_id) &&
         features.segments.size() == segments &&
         std::all_of(features.segments.begin(), features.segments.end(),
                     [](uint8_t segment) { return segment <= 1; });
}

bool HasLabelsOf(const Features& features, const TextSplit& split, const LabelSpec& labels) {
  return features.rows() == split.rows() && features.problem == labels.problem &&
         features.outputs == labels.outputs && features.has_labels == split.has_labels &&
         features.class_labels == split.class_labels &&
         features.float_labels.size() == split.float_labels.size() &&
         features.start_labels.empty() && features.end_labels.empty();
}

bool AreWindowsOf(const QaWindows& windows, const QaDataset& dataset,
                  const QaWindowOptions& options) {
  const Features& features = windows.features;
  const auto rows = static_cast<size_t>(features.rows());
  const size_t labels = options.labels ? rows : 0;
  const size_t offsets = options.labels ? 0 : features.ids.size();
  if (features.problem != ProblemType::kSpan || features.outputs != 2 ||
      features.has_labels != options.labels || !features.class_labels.empty() ||
      !features.float_labels.empty() || features.start_labels.size() != labels ||
      features.end_labels.size() != labels || windows.example.size() != rows ||
      windows.offsets.size() != offsets) {
    return false;
  }
  for (size_t row = 0; row < rows; ++row) {
    if (windows.example[row] < (row == 0 ? 0 : windows.example[row - 1]) ||
        windows.example[row] >= static_cast<int64_t>(dataset.examples.size())) {
      return false;
    }
    const auto is_token = [&](int32_t token) {
      return token >= 0 && token < features.length(static_cast<int64_t>(row));
    };
    if (options.labels &&
        !(is_token(features.start_labels[row]) && is_token(features.end_labels[row]))) {
      return false;
    }
  }
  return true;
}

// `is_usable` looks at what the file holds.
template <class T, class IsUsable>
std::optional<T> Load(const std::filesystem::path& file, const FeatureKey& key,
                      const IsUsable& is_usable, Log& log) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  try {
    std::optional<T> content = Parse<T>(io::MappedFile::Open(file)->bytes(), key);
    if (content && !is_usable(*content)) content.reset();
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
                                     const TextSplit& split, const LabelSpec& labels,
                                     const text::Tokenizer& tokenizer, int max_length, Log& log) {
  const auto is_usable = [&](const Features& features) {
    return AreSound(features, tokenizer, max_length) && HasLabelsOf(features, split, labels);
  };
  return Load<Features>(file, key, is_usable, log);
}

std::optional<QaWindows> LoadWindows(const std::filesystem::path& file, const FeatureKey& key,
                                     const QaDataset& dataset, const text::Tokenizer& tokenizer,
                                     const QaWindowOptions& options, Log& log) {
  const auto is_usable = [&](const QaWindows& windows) {
    return AreSound(windows.features, tokenizer, options.max_length) &&
           AreWindowsOf(windows, dataset, options);
  };
  return Load<QaWindows>(file, key, is_usable, log);
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
