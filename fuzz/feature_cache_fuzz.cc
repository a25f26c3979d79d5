// A file of cached features, or of windows: the first byte chooses. Its checksum keeps changes out,
// so the input is what follows the checksum, under the right one: the files may lie beside data
// that came from anywhere. What is granted is used as a run uses it.
#include <xxhash.h>

#include <array>

#include "base/run_context.h"
#include "data/feature_cache.h"
#include "data/packing.h"
#include "data/qa_answers.h"
#include "fuzz/input.h"
#include "io/atomic_write.h"
#include "tests/data/one_word_vocabulary.h"
#include "text/wordpiece.h"

namespace {

using namespace hagane;

// magic, version, key; then the checksum, high half first.
constexpr size_t kBeforeChecksum = 32;
constexpr data::FeatureKey kKey{1, 2};

struct Fixture {
  fuzz::Folder folder;
  std::string begin;  // of a right file
  text::WordPieceTokenizer tokenizer{data::OneWordVocabulary()};
  data::TextSplit split;
  data::LabelSpec labels;
  data::QaDataset dataset;
  data::QaWindowOptions options;
  RunContext ctx;
  NullLog log;

  Fixture() {
    split.text_a = {"a", "a a"};
    split.has_labels = true;
    split.class_labels = {0, 1};
    dataset.contexts = {"a caf\u00e9", "a a a"};
    for (const int32_t context : {0, 0, 1}) {
      data::QaExample example;
      example.id = std::to_string(dataset.examples.size());
      example.context = context;
      dataset.examples.push_back(example);
    }
    options.max_length = 8;
    ctx.log = &log;
    ctx.threads = 1;
    const auto file = folder.path() / "cache";
    data::SaveFeatures({}, file, kKey, log);
    begin = io::ReadFile(file, 1 << 20).substr(0, kBeforeChecksum);
  }
};

void UseFeatures(const Fixture& f, const data::Features& features) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < features.rows(); ++row) rows.push_back(row);
  PackedBatch batch;
  data::PackRows(features, rows, 0, {.offset = 2, .count_from_pad = 1}, &batch);
  data::LargestBatchTokens(features, 2);
  for (const int32_t id : features.ids) fuzz::Require(id >= 0 && id < f.tokenizer.vocab_size());
}

}  // namespace

void hagane::fuzz::Read(std::string_view input) {
  static Fixture f;
  const unsigned choice = TakeByte(input);
  const XXH128_hash_t hash = XXH3_128bits(input.data(), input.size());
  const std::array<uint64_t, 2> checksum{hash.high64, hash.low64};
  std::string content = f.begin;
  content.append(reinterpret_cast<const char*>(checksum.data()), sizeof(checksum)).append(input);
  const auto file = f.folder.Write("cache", content);
  if (choice % 4 == 0) {
    const auto features = data::LoadFeatures(file, kKey, f.split, f.labels, f.tokenizer, 8, f.log);
    if (features) UseFeatures(f, *features);
    return;
  }
  f.options.labels = choice % 2 != 0;
  const auto windows = data::LoadWindows(file, kKey, f.dataset, f.tokenizer, f.options, f.log);
  if (!windows) return;
  UseFeatures(f, windows->features);
  if (f.options.labels) return;
  const std::vector<float> logits(2 * windows->features.ids.size());
  data::FindQaAnswers(f.ctx, f.dataset, *windows, logits, {.version_2 = true});
}
