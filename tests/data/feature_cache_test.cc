// Files of features that were made on purpose: their checksums are right, what they hold is not.
// Accidents are in the tests of tokenize.h and qa_windows.h.
#include "data/feature_cache.h"

#include <limits>

#include "tests/data/one_word_vocabulary.h"
#include "tests/data/test_files.h"
#include "text/wordpiece.h"

namespace hagane::data {
namespace {

constexpr FeatureKey kKey{1, 2};

class ForgedFeatures : public ::testing::Test {
 protected:
  ForgedFeatures() {
    split_.text_a = {"a", "a a"};
    split_.has_labels = true;
    split_.class_labels = {0, 1};
    features_.row_start = {0, 3, 7};
    features_.ids = {2, 4, 3, 2, 4, 4, 3};
    features_.segments.resize(7);
    features_.has_labels = true;
    features_.class_labels = {0, 1};

    dataset_.contexts = {"a a"};
    dataset_.examples.resize(2);
    windows_.features.problem = ProblemType::kSpan;
    windows_.features.row_start = {0, 4, 8};
    windows_.features.ids = {2, 3, 4, 3, 2, 3, 4, 3};
    windows_.features.segments = {0, 0, 1, 1, 0, 0, 1, 1};
    windows_.example = {0, 1};
    windows_.offsets.assign(8, kNoOffset);
    options_.max_length = 8;
  }

  // Whether the features are taken after `change` of a sound one.
  template <class Change>
  bool Taken(const Change& change) {
    Features features = features_;
    change(features);
    SaveFeatures(features, file_, kKey, log_);
    return LoadFeatures(file_, kKey, split_, labels_, tokenizer_, 4, log_).has_value();
  }
  template <class Change>
  bool WindowsTaken(const Change& change) {
    QaWindows windows = windows_;
    change(windows);
    SaveWindows(windows, file_, kKey, log_);
    return LoadWindows(file_, kKey, dataset_, tokenizer_, options_, log_).has_value();
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "cache";
  KeptLog log_;
  text::WordPieceTokenizer tokenizer_{OneWordVocabulary()};
  TextSplit split_;
  LabelSpec labels_;
  Features features_;
  QaDataset dataset_;
  QaWindows windows_;
  QaWindowOptions options_;
};

TEST_F(ForgedFeatures, AreTakenOnlyWithRowsOfIdsAndTheSplitsLabels) {
  using F = Features;
  EXPECT_TRUE(Taken([](F&) {}));
  EXPECT_FALSE(Taken([](F& f) { f.ids[3] = 5; }));
  EXPECT_FALSE(Taken([](F& f) { f.ids[3] = -1; }));
  EXPECT_FALSE(Taken([](F& f) { f.row_start[1] = 8; }));
  EXPECT_FALSE(Taken([](F& f) { f.row_start[1] = 0; }));
  EXPECT_FALSE(Taken([](F& f) { f.row_start[1] = -1; }));
  EXPECT_FALSE(Taken([](F& f) { f.row_start[0] = 1; }));
  EXPECT_FALSE(Taken([](F& f) { f.row_start[1] = std::numeric_limits<int64_t>::min(); }));
  EXPECT_FALSE(Taken([](F& f) { f.row_start[2] = 6; }));
  EXPECT_FALSE(Taken([](F& f) { f.row_start[1] = 2; }));  // a row of 5 tokens
  EXPECT_FALSE(Taken([](F& f) { f.row_start = {0, 7}; }));
  EXPECT_FALSE(Taken([](F& f) { f.row_start.clear(); }));
  EXPECT_FALSE(Taken([](F& f) { f.segments[2] = 2; }));
  EXPECT_FALSE(Taken([](F& f) { f.segments.pop_back(); }));
  EXPECT_FALSE(Taken([](F& f) { f.class_labels[1] = 2; }));
  EXPECT_FALSE(Taken([](F& f) { f.class_labels.pop_back(); }));
  EXPECT_FALSE(Taken([](F& f) { f.float_labels = {1}; }));
  EXPECT_FALSE(Taken([](F& f) { f.start_labels = {1}; }));
  EXPECT_FALSE(Taken([](F& f) { f.problem = ProblemType::kRegression; }));
  EXPECT_FALSE(Taken([](F& f) { f.outputs = 3; }));
  EXPECT_FALSE(Taken([](F& f) { f.has_labels = false; }));
}

TEST_F(ForgedFeatures, WindowsAreTakenOnlyWithExamplesAndTokensThatAreThere) {
  using W = QaWindows;
  EXPECT_TRUE(WindowsTaken([](W&) {}));
  EXPECT_FALSE(WindowsTaken([](W& w) { w.example[1] = 2; }));
  EXPECT_FALSE(WindowsTaken([](W& w) { w.example[0] = -1; }));
  EXPECT_FALSE(WindowsTaken([](W& w) { w.example = {1, 0}; }));
  EXPECT_FALSE(WindowsTaken([](W& w) { w.example.pop_back(); }));
  EXPECT_FALSE(WindowsTaken([](W& w) { w.offsets.pop_back(); }));
  EXPECT_FALSE(WindowsTaken([](W& w) { w.features.ids[0] = 5; }));
  EXPECT_FALSE(WindowsTaken([](W& w) { w.features.problem = ProblemType::kSingleLabel; }));
  EXPECT_FALSE(WindowsTaken([](W& w) { w.features.outputs = 1; }));
  options_.labels = true;
  const auto label = [](W& w, int32_t start, int32_t end) {
    w.offsets.clear();
    w.features.has_labels = true;
    w.features.start_labels = {0, start};
    w.features.end_labels = {0, end};
  };
  EXPECT_TRUE(WindowsTaken([&](W& w) { label(w, 2, 3); }));
  EXPECT_FALSE(WindowsTaken([&](W& w) { label(w, 2, 4); }));
  EXPECT_FALSE(WindowsTaken([&](W& w) { label(w, -1, 2); }));
}

}  // namespace
}  // namespace hagane::data
