#include "data/text_dataset.h"
#include "tests/data/test_files.h"

namespace hagane::data {
namespace {

using Names = std::vector<std::string>;
using Ids = std::vector<int32_t>;

class OwnFilesTest : public ::testing::Test {
 protected:
  TextDataset Train(const std::string& name, std::string_view content) {
    files_.train = folder_.Write(name, content);
    SplitRequest request;
    request.train = true;
    return ReadOwnFiles(files_, request, log_);
  }
  // Train is "a,no / b,yes" unless given.
  TextDataset Validate(const std::string& name, std::string_view content,
                       std::string_view train = "sentence1,label\na,no\nb,yes\n") {
    files_.train = folder_.Write("train.csv", train);
    files_.validation = folder_.Write(name, content);
    SplitRequest request;
    request.evaluation = true;
    return ReadOwnFiles(files_, request, log_);
  }
  bool Warned(const std::string& part) const {
    for (const std::string& line : log_.warnings) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }
  TemporaryFolder folder_;
  OwnFiles files_;
  KeptLog log_;
};

TEST_F(OwnFilesTest, Sentence1AndSentence2AreTheTextsWhereverTheyStand) {
  const TextDataset data = Train("t.csv", "id,sentence2,label,sentence1\n7,b,x,a\n8,d,y,c\n");
  EXPECT_EQ(data.train->text_a, (Names{"a", "c"}));
  EXPECT_EQ(data.train->text_b, (Names{"b", "d"}));
  EXPECT_TRUE(log_.warnings.empty());
}

TEST_F(OwnFilesTest, OtherwiseTheFirstTwoColumnsAreTakenAndNamed) {
  const TextDataset data = Train("t.csv", "id,text,label\n7,a,x\n8,b,y\n");
  EXPECT_EQ(data.train->text_a, (Names{"7", "8"}));
  EXPECT_EQ(data.train->text_b, (Names{"a", "b"}));
  EXPECT_TRUE(Warned("\"id\" and \"text\""));
  log_.warnings.clear();
  Train("t.csv", "question,answer,label\na,b,x\nc,d,y\n");
  EXPECT_TRUE(log_.warnings.empty());
}

TEST_F(OwnFilesTest, OrTheOnlyOne) {
  const TextDataset data = Train("t.tsv", "label\ttext\nx\ta \"b\ny\tc\n");
  EXPECT_EQ(data.train->text_a, (Names{"a \"b", "c"}));
  EXPECT_TRUE(data.train->text_b.empty());
}

TEST_F(OwnFilesTest, NaWordsAreTextAndBlankCellsEmpty) {
  const TextDataset data = Train("t.csv", "sentence1,sentence2,label\nNA,null,x\n  ,,y\n");
  EXPECT_EQ(data.train->text_a, (Names{"NA", ""}));
  EXPECT_EQ(data.train->text_b, (Names{"null", ""}));
}

TEST_F(OwnFilesTest, TextLabelsAreSortedByCodePoint) {
  const TextDataset data = Train("t.csv", "s,label\na,b\nb,Z\nc,\xC3\xA9\nd,a\n");
  EXPECT_EQ(data.labels.names, (Names{"Z", "a", "b", "\xC3\xA9"}));
  EXPECT_EQ(data.train->class_labels, (Ids{2, 0, 3, 1}));
  EXPECT_EQ(data.labels.outputs, 4);
  EXPECT_EQ(data.labels.metrics, MetricSet::kAccuracy);
}

TEST_F(OwnFilesTest, LabelTypesAreInferredAsPandasDoes) {
  EXPECT_EQ(Train("t.csv", "s,label\na,3.5\nb,0\nc,-1e1\n").train->float_labels,
            (std::vector<float>{3.5f, 0, -10}));
  EXPECT_EQ(Train("t.csv", "s,label\na,10\nb,+2\nc,-1\nd, 2\n").labels.names,
            (Names{"-1", "2", "10"}));
  EXPECT_EQ(Train("t.csv", "s,label\na,TRUE\nb,False\n").labels.names, (Names{"False", "True"}));
  EXPECT_EQ(Train("t.csv", "s,label\na,true\nb,no\n").labels.names, (Names{"no", "true"}));
  EXPECT_EQ(Train("t.csv", "s,label\na,1\nb,x\n").labels.names, (Names{"1", "x"}));
  EXPECT_EQ(Train("t.csv", "s,label\na,99999999999999999999\nb,1\n").labels.names,
            (Names{"1", "99999999999999999999"}));
}

TEST_F(OwnFilesTest, WholeDecimalsAreARegressionWithAWarning) {
  EXPECT_EQ(Train("t.csv", "s,label\na,1.0\nb,0.0\n").labels.problem, ProblemType::kRegression);
  EXPECT_TRUE(Warned("write 1, not 1.0"));
}

TEST_F(OwnFilesTest, JsonLabelsHaveTheirOwnTypes) {
  EXPECT_EQ(Train("t.json", R"([{"s":"a","label":1},{"s":"b","label":2.5}])").labels.problem,
            ProblemType::kRegression);
  EXPECT_EQ(Train("t.json", R"([{"s":"a","label":10},{"s":"b","label":9}])").labels.names,
            (Names{"9", "10"}));
  EXPECT_EQ(Train("t.json", R"([{"s":"a","label":true},{"s":"b","label":false}])").labels.names,
            (Names{"False", "True"}));
  EXPECT_EQ(Train("t.jsonl", "{\"s\":\"a\",\"label\":\"NA\"}\n{\"s\":\"b\",\"label\":\"x\"}\n")
                .labels.names,
            (Names{"NA", "x"}));
  ExpectError(
      [&] { Train("t.json", "[{\"s\":\"a\",\"label\":1},\n{\"s\":\"b\",\"label\":\"x\"}]"); },
      {"t.json:2:", "is text", "a number"});
}

TEST_F(OwnFilesTest, ListsAreSeveralLabelsAtOnce) {
  TextDataset data = Train("t.json", R"([{"s":"a","label":[0,1,1]},{"s":"b","label":[0,0,1.0]}])");
  EXPECT_EQ(data.labels.problem, ProblemType::kMultiLabel);
  EXPECT_EQ(data.labels.outputs, 3);
  EXPECT_EQ(data.labels.metrics, MetricSet::kMicroF1);
  EXPECT_EQ(data.train->float_labels, (std::vector<float>{0, 1, 1, 0, 0, 1}));

  data =
      Train("t.json",
            R"([{"s":"a","label":["red","dry"]},{"s":"b","label":[]},{"s":"c","label":["dry"]}])");
  EXPECT_EQ(data.labels.names, (Names{"dry", "red"}));
  EXPECT_EQ(data.train->float_labels, (std::vector<float>{1, 1, 0, 0, 1, 0}));

  EXPECT_EQ(Train("t.json", R"([{"s":"a","label":[10]},{"s":"b","label":[9,10]}])").labels.names,
            (Names{"9", "10"}));
  ExpectError(
      [&] {
        Train("t.json", "[{\"s\":\"a\",\"label\":[\"x\"]},\n{\"s\":\"b\",\"label\":[null]}]");
      },
      {"t.json:2:", "missing"});
}

TEST_F(OwnFilesTest, AListThatLacksAPlaceIsAnErrorThatNamesTheRow) {
  ExpectError(
      [&] { Train("t.json", "{\"s\":\"a\",\"label\":[0,0,1]}\n{\"s\":\"b\",\"label\":[0,1]}"); },
      {"t.json:2:", "2 items", "first row 3"});
}

TEST_F(OwnFilesTest, AMissingLabelIsAnErrorThatNamesTheRow) {
  ExpectError([&] { Train("t.csv", "s,label\na,1\nb,\nc,2\n"); }, {"t.csv:3:", "label is missing"});
  ExpectError([&] { Train("t.csv", "s,label\na,x\nb,N/A\n"); }, {"t.csv:3:", "\"N/A\""});
  ExpectError([&] { Train("t.json", "{\"s\":\"a\",\"label\":1}\n{\"s\":\"b\",\"label\":null}"); },
              {"t.json:2:", "missing"});
  ExpectError([&] { Validate("v.csv", "sentence1,label\na,\n"); },
              {"v.csv:2:", "label is missing"});
}

TEST_F(OwnFilesTest, ALabelThatIsNotUtf8IsAnErrorThatNamesTheRow) {
  ExpectError([&] { Train("t.csv", "s,label\na,x\nb,gr\xfc\n"); }, {"t.csv:3:", "not UTF-8"});
  EXPECT_EQ(Train("t.csv", "s,label\ngr\xfc,x\nb,y\n").train->rows(), 2);
}

TEST_F(OwnFilesTest, AnUnknownLabelIsNamedWithTheKnownOnesAndTheNearest) {
  ExpectError([&] { Validate("v.csv", "sentence1,label\na,yes\nb,Yess\n"); },
              {"v.csv:3:", "\"Yess\"", "train.csv", "no, yes", "is \"yes\" meant?"});
}

TEST_F(OwnFilesTest, LabelsOfOtherFilesAreReadInTheTypeOfTrain) {
  EXPECT_EQ(Validate("v.json", R"([{"sentence1":"a","label":"2"},{"sentence1":"b","label":1}])",
                     "sentence1,label\na,1\nb,2\n")
                .evaluation[0]
                .class_labels,
            (Ids{1, 0}));
  EXPECT_EQ(Validate("v.csv", "sentence1,label\na,2.0\n", "sentence1,label\na,1\nb,2\n")
                .evaluation[0]
                .class_labels,
            (Ids{1}));
  EXPECT_EQ(Validate("v.csv", "sentence1,label\na,2\n", "sentence1,label\na,1.5\nb,2\n")
                .evaluation[0]
                .float_labels,
            (std::vector<float>{2}));
  ExpectError(
      [&] { Validate("v.csv", "sentence1,label\na,inf\n", "sentence1,label\na,1.5\nb,2\n"); },
      {"v.csv:2:", "\"inf\"", "finite"});
  EXPECT_EQ(Validate("v.csv", "sentence1,label\na,true\n", "sentence1,label\na,True\nb,False\n")
                .evaluation[0]
                .class_labels,
            (Ids{1}));
}

TEST_F(OwnFilesTest, OneClassIsNoTask) {
  ExpectError([&] { Train("t.csv", "s,label\na,x\nb,x\n"); }, {"all rows have the label \"x\""});
}

TEST_F(OwnFilesTest, ARaggedRowIsNamedWithItsText) {
  ExpectError([&] { Train("t.csv", "sentence1,label\nfine,x\none, two,y\n"); },
              {"t.csv:3:", "3 columns", "has 2", "one, two,y", "commas", "quotes"});
  ExpectError([&] { Train("t.tsv", "sentence1\tlabel\nfine\n"); },
              {"t.tsv:2:", "1 column,", "tabs"});
  ExpectError(
      [&] { Train("t.json", "{\"a\":\"x\",\"b\":\"y\",\"label\":1}\n{\"a\":\"x\",\"label\":1}"); },
      {"t.json:2:", "no \"b\""});
}

TEST_F(OwnFilesTest, EmptyFilesAndMissingColumnsAreSaidInOneSentence) {
  ExpectError([&] { Train("t.csv", ""); }, {"t.csv is empty"});
  ExpectError([&] { Train("t.csv", "sentence1,label\n"); }, {"t.csv has a header and no rows"});
  ExpectError([&] { Train("t.json", "[]"); }, {"t.json is empty"});
  ExpectError([&] { Train("t.csv", "sentence1,Label\na,1\n"); },
              {"no column \"label\"", "sentence1, Label", "rename"});
  ExpectError([&] { Train("t.csv", "sentence1;label\na;1\n"); },
              {"no column \"label\"", "semicolons"});
  ExpectError([&] { Train("t.csv", "sentence1\tlabel\na\t1\n"); }, {"tabs", ".tsv"});
  ExpectError([&] { Train("t.csv", "label\n1\n"); }, {"no column besides"});
  ExpectError([&] { Train("t.csv", "a,a,label\n1,2,3\n"); }, {"two columns", "\"a\""});
  ExpectError([&] { Train("t.txt", "a"); }, {"t.txt", ".csv"});
  ExpectError([&] { Validate("v.csv", "text,label\na,no\n"); },
              {"v.csv", "no column \"sentence1\""});
  EXPECT_THROW(ReadOwnFiles({}, SplitRequest{true, false, false, {}, {}, {}}, log_), Error);
}

TEST_F(OwnFilesTest, NumbersAsJsonTextsAreReadAsWrittenWithAWarning) {
  const TextDataset data = Train("t.json", R"([{"s":2.50,"label":"x"},{"s":"b","label":"y"}])");
  EXPECT_EQ(data.train->text_a[0], "2.5");
  EXPECT_TRUE(Warned("\"s\" is 2.5"));
  ExpectError([&] { Train("t.json", R"([{"s":["a"],"label":"x"}])"); },
              {"t.json:1:", "\"s\" is no text"});
}

TEST_F(OwnFilesTest, LabelsAreFoundOnAllTrainRowsBeforeTheCut) {
  files_.train = folder_.Write("t.csv", "s,label\na,x\nb,y\nc,z\n");
  SplitRequest request;
  request.train = true;
  request.max_train = 1;
  const TextDataset data = ReadOwnFiles(files_, request, log_);
  EXPECT_EQ(data.train->rows(), 1);
  EXPECT_EQ(data.train->class_labels, (Ids{0}));
  EXPECT_EQ(data.labels.names, (Names{"x", "y", "z"}));
}

TEST_F(OwnFilesTest, MultiLabelRowsAreCutWhole) {
  files_.train = folder_.Write("t.json", R"([{"s":"a","label":[0,1]},{"s":"b","label":[1,1]}])");
  SplitRequest request;
  request.train = true;
  request.max_train = 1;
  EXPECT_EQ(ReadOwnFiles(files_, request, log_).train->float_labels, (std::vector<float>{0, 1}));
}

TEST(RemapToModelLabels, MovesTheRowsOfSeveralLabels) {
  TextDataset data;
  data.labels = {ProblemType::kMultiLabel, 3, {"a", "b", "c"}, MetricSet::kMicroF1};
  data.train.emplace();
  data.train->float_labels = {1, 0, 0, 0, 1, 1};
  EXPECT_TRUE(RemapToModelLabels({"C", "A", "B"}, &data));
  EXPECT_EQ(data.labels.names, (Names{"c", "a", "b"}));
  EXPECT_EQ(data.train->float_labels, (std::vector<float>{0, 1, 0, 1, 0, 1}));
}

TEST(RemapToModelLabels, ChangesNothingUnlessBothListsHaveTheSameNames) {
  TextDataset data;
  data.labels.names = {"no", "yes"};
  data.train.emplace();
  data.train->class_labels = {0, 1};
  for (const Names& names :
       {Names{"LABEL_0", "LABEL_1"}, Names{"yes"}, Names{"yes", "YES"}, Names{"no", "yes", "x"}}) {
    EXPECT_FALSE(RemapToModelLabels(names, &data));
    EXPECT_EQ(data.train->class_labels, (Ids{0, 1}));
    EXPECT_EQ(data.labels.names, (Names{"no", "yes"}));
  }
  TextDataset regression;
  regression.labels = {ProblemType::kRegression, 1, {}, MetricSet::kMse};
  EXPECT_FALSE(RemapToModelLabels({"LABEL_0"}, &regression));
}

}  // namespace
}  // namespace hagane::data
