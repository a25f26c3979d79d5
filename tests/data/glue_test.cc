#include "data/text_dataset.h"
#include "tests/data/test_files.h"

namespace hagane::data {
namespace {

constexpr SplitRequest kAll{true, true, true, {}, {}, {}};

class Glue : public ::testing::Test {
 protected:
  TextDataset Read(const std::string& task, const SplitRequest& request = kAll) {
    return ReadGlue(task, folder_.path(), request, log_);
  }
  TemporaryFolder folder_;
  KeptLog log_;
};

struct Size {
  const char *task, *folder;
  int64_t train, evaluation, prediction;  // 0: the real file is not in the shared data
};

class RealGlue : public ::testing::TestWithParam<Size> {};

TEST_P(RealGlue, HasAllItsRows) {
  const Size& size = GetParam();
  const auto parent = Shared("data/glue");
  HAGANE_SKIP_WITHOUT(parent / size.folder);
  NullLog log;
  SplitRequest request;
  request.train = size.train > 0;
  request.evaluation = size.evaluation > 0;
  request.prediction = size.prediction > 0;
  for (const auto& folder : {parent, parent / size.folder}) {
    const TextDataset data = ReadGlue(size.task, folder, request, log);
    EXPECT_EQ(data.task_name, size.task);
    if (size.train > 0) {
      EXPECT_EQ(data.train->rows(), size.train);
      EXPECT_EQ(data.train->class_labels.size() + data.train->float_labels.size(),
                static_cast<size_t>(size.train));
    }
    if (size.evaluation > 0) {
      EXPECT_EQ(data.evaluation.at(0).rows(), size.evaluation);
    }
    if (size.prediction > 0) {
      EXPECT_EQ(data.prediction.at(0).rows(), size.prediction);
      EXPECT_FALSE(data.prediction.at(0).has_labels);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tasks, RealGlue,
    ::testing::Values(Size{"mrpc", "MRPC", 3668, 408, 1725}, Size{"cola", "CoLA", 8551, 1043, 1063},
                      Size{"sst2", "SST-2", 67349, 872, 1821},
                      Size{"stsb", "STS-B", 5749, 1500, 1379}, Size{"rte", "RTE", 2490, 277, 3000},
                      Size{"wnli", "WNLI", 635, 71, 146}, Size{"qnli", "QNLI", 0, 5463, 0},
                      Size{"qqp", "QQP", 20000, 3496, 0}),
    [](const auto& task) { return std::string(task.param.task); });

TEST(RealGlueRows, HoldTheTextsAndLabelsOfTheFirstLines) {
  const auto parent = Shared("data/glue");
  HAGANE_SKIP_WITHOUT(parent);
  NullLog log;
  SplitRequest train;
  train.train = true;
  const TextDataset cola = ReadGlue("cola", parent, train, log);
  EXPECT_EQ(cola.train->text_a[0],
            "Our friends won't buy this analysis, let alone the next one we propose.");
  EXPECT_EQ(cola.train->class_labels[0], 1);
  EXPECT_TRUE(cola.train->text_b.empty());
  EXPECT_EQ(cola.labels.metrics, MetricSet::kMatthews);
  const TextDataset stsb = ReadGlue("stsb", parent, train, log);
  EXPECT_EQ(stsb.train->text_b[1], "A man is playing a flute.");
  EXPECT_EQ(stsb.train->float_labels[1], 3.8f);
  EXPECT_EQ(stsb.labels.problem, ProblemType::kRegression);
  EXPECT_EQ(stsb.labels.outputs, 1);
  const TextDataset rte = ReadGlue("rte", parent, train, log);
  EXPECT_EQ(rte.train->class_labels[0], 1);  // not_entailment
  EXPECT_EQ(rte.labels.names, (std::vector<std::string>{"entailment", "not_entailment"}));
  const TextDataset wnli = ReadGlue("wnli", parent, train, log);
  EXPECT_EQ(wnli.train->class_labels[0], 1);
  EXPECT_EQ(wnli.labels.names, (std::vector<std::string>{"not_entailment", "entailment"}));
}

TEST(RealGlueRows, AFileAsFoundWithoutHeaderIsReadByPosition) {
  const auto file = Shared("data/glue/QQP/new_dev.tsv");
  HAGANE_SKIP_WITHOUT(file);
  TemporaryFolder folder;
  std::ifstream in(file, std::ios::binary);
  std::string broken_row, rest;
  std::getline(in, broken_row);
  rest.assign(std::istreambuf_iterator<char>(in), {});
  folder.Write("dev.tsv", rest);
  NullLog log;
  SplitRequest request;
  request.evaluation = true;
  EXPECT_EQ(ReadGlue("qqp", folder.path(), request, log).evaluation.at(0).rows(), 23496);
}

std::string MnliTrain(const std::string& label) {
  return "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_"
         "parse\tsentence1_parse\t"
         "sentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n"
         "0\t1\t2\tfiction\t( a )\t( b )\t(a)\t(b)\tpremise\thypothesis\tx\t" +
         label + "\n";
}

TEST_F(Glue, MnliHasTwoSetsAndOnlyTheFirstTestSetIsCut) {
  folder_.Write("MNLI/train.tsv", MnliTrain("contradiction"));
  folder_.Write("MNLI/dev_matched.tsv", MnliTrain("neutral"));
  folder_.Write("MNLI/dev_mismatched.tsv", MnliTrain("entailment"));
  const std::string test = "index\tsentence1\tsentence2\n0\ta\tb\n1\tc\td\n";
  folder_.Write("MNLI/test_matched.tsv", test);
  folder_.Write("MNLI/test_mismatched.tsv", test);
  SplitRequest request = kAll;
  request.max_prediction = 1;
  const TextDataset data = Read("mnli", request);
  EXPECT_EQ(data.train->text_a[0], "premise");
  EXPECT_EQ(data.train->text_b[0], "hypothesis");
  EXPECT_EQ(data.train->class_labels[0], 2);
  ASSERT_EQ(data.evaluation.size(), 2u);
  EXPECT_EQ(data.evaluation[0].name, "validation_matched");
  EXPECT_EQ(data.evaluation[0].class_labels[0], 1);
  EXPECT_EQ(data.evaluation[1].name, "validation_mismatched");
  EXPECT_EQ(data.evaluation[1].class_labels[0], 0);
  ASSERT_EQ(data.prediction.size(), 2u);
  EXPECT_EQ(data.prediction[0].rows(), 1);
  EXPECT_EQ(data.prediction[1].rows(), 2);
}

TEST_F(Glue, FoldersAreFoundByAnyUsualName) {
  const std::string rows = "sentence\tlabel\ngood \t1\n";
  for (const char* name : {"SST-2", "sst2", "SST_2"}) {
    TemporaryFolder parent;
    parent.Write(std::string(name) + "/train.tsv", rows);
    SplitRequest request;
    request.train = true;
    EXPECT_EQ(ReadGlue("sst2", parent.path(), request, log_).train->text_a[0], "good ") << name;
  }
}

TEST_F(Glue, RowsAreCutToTheFirst) {
  folder_.Write("sst2/train.tsv", "sentence\tlabel\na\t1\nb\t0\nc\t1\n");
  SplitRequest request;
  request.train = true;
  request.max_train = 2;
  EXPECT_EQ(Read("sst2", request).train->text_a, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(Read("sst2", request).train->class_labels, (std::vector<int32_t>{1, 0}));
}

TEST_F(Glue, ARaggedRowIsNamed) {
  folder_.Write("RTE/train.tsv",
                "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tentailment\n1\ta\tentailment\n");
  SplitRequest request;
  request.train = true;
  ExpectError([&] { Read("rte", request); },
              {"train.tsv:3:", "3 columns", "has 4", "1\\ta\\tentailment", "tabs"});
}

TEST_F(Glue, QqpRowsThatLackAColumnAreLeftOutAndCounted) {
  folder_.Write("QQP/train.tsv",
                "id\tqid1\tqid2\tquestion1\tquestion2\tis_"
                "duplicate\n1\t2\t3\ta\tb\t1\n4\t5\t6\tlost\n7\t8\t9\tc\td\t0\n");
  SplitRequest request;
  request.train = true;
  EXPECT_EQ(Read("qqp", request).train->text_a, (std::vector<std::string>{"a", "c"}));
  ASSERT_EQ(log_.warnings.size(), 1u);
  EXPECT_NE(log_.warnings[0].find("1 row is left out"), std::string::npos) << log_.warnings[0];
  EXPECT_NE(log_.warnings[0].find("train.tsv:3"), std::string::npos) << log_.warnings[0];
}

TEST_F(Glue, AWrongLabelIsNamedWithTheLabelsThereAre) {
  folder_.Write("RTE/train.tsv", "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tmaybe\n");
  SplitRequest request;
  request.train = true;
  ExpectError([&] { Read("rte", request); },
              {"train.tsv:2:", "\"maybe\"", "entailment, not_entailment"});
  folder_.Write(
      "STS-B/train.tsv",
      "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
      "0\tg\tf\ty\to\ts\ts\ta\tb\tnan\n");
  ExpectError([&] { Read("stsb", request); }, {"train.tsv:2:", "\"nan\"", "a number"});
}

TEST_F(Glue, FilesOfAnotherTaskAreRefused) {
  folder_.Write("train.tsv", "sentence\tlabel\na\t1\n");
  SplitRequest request;
  request.train = true;
  ExpectError([&] { Read("mrpc", request); }, {"mrpc", "#1 String", "sentence\\tlabel"});
}

TEST_F(Glue, WhatIsMissingIsNamed) {
  ExpectError([&] { Read("mrpc"); }, {"mrpc", "--data_dir"});
  ExpectError([&] { ReadGlue("mrpc", folder_.path() / "no", kAll, log_); }, {"no folder"});
  ExpectError([&] { Read("mrcp"); }, {"\"mrcp\"", "--task_name mrpc"});
  folder_.Write("sst2/train.tsv", "sentence\tlabel\na\t1\n");
  ExpectError([&] { Read("sst2"); }, {"sst2", "dev.tsv"});
  folder_.Write("sst2/dev.tsv", "");
  ExpectError([&] { Read("sst2"); }, {"dev.tsv is empty"});
  folder_.Write("sst2/dev.tsv", "sentence\tlabel\n");
  ExpectError([&] { Read("sst2"); }, {"dev.tsv has no usable row"});
}

TEST(GlueTasks, AreNine) {
  EXPECT_EQ(GlueTaskNames(), (std::vector<std::string>{"cola", "mnli", "mrpc", "qnli", "qqp", "rte",
                                                       "sst2", "stsb", "wnli"}));
  EXPECT_TRUE(IsGlueTask("stsb"));
  EXPECT_FALSE(IsGlueTask("squad"));
}

}  // namespace
}  // namespace hagane::data
