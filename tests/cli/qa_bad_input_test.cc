// Whatever is wrong with run_qa's flags and files: exit code, one sentence with the place, a hint.
#include <gtest/gtest.h>

#include "tests/cli/expect_error.h"
#include "tests/cli/tiny_questions.h"

namespace hagane::cli {
namespace {

using io::Contains;

class QaBadInputTest : public ::testing::Test {
 protected:
  Outcome Train(const Args& more = {}) { return RunProgram(run_.QaShort() + more); }
  Outcome TrainFile(const std::string& name, const std::string& text) {
    run_.folder().Write(name, text);
    return Train({"--train_file", run_.Path(name)});
  }
  // One question of record form, with `more` members.
  static std::string Record(const std::string& more) {
    return R"({"question": "the good", "context": "the good day")" + more + "}";
  }

  TinyQuestions run_;
};

TEST_F(QaBadInputTest, FlagsOfRunGlueAreUnknown) {
  ExpectError(Train({"--task_name", "mrpc"}), 2, "--task_name");
  ExpectError(Train({"--data_dir", "x"}), 2, "--data_dir");
}

TEST_F(QaBadInputTest, FilesThatTheRunNeedsAreNamed) {
  const Args model = {"run_qa", "--model_name_or_path", run_.Path("model"), "--output_dir",
                      run_.Path("out")};
  ExpectError(RunProgram(model + Args{"--do_train"}), 2, "--train_file is missing");
  ExpectError(RunProgram(model + Args{"--do_eval"}), 2, "--validation_file is missing");
  ExpectError(RunProgram(model + Args{"--do_predict"}), 2, "--test_file is missing");
  ExpectError(RunProgram(model + Args{"--train_file", run_.Path("train.json")}), 2,
              "nothing to do");
}

TEST_F(QaBadInputTest, FilesOfOtherFormsAreRefused) {
  ExpectError(Train({"--train_file", run_.Path("train.csv")}), 2, "train.csv");
  ExpectError(Train({"--train_file", run_.Path("nowhere.json")}), 1, "nowhere.json");
  ExpectError(TrainFile("empty.json", ""), 1, "empty.json");
  ExpectError(TrainFile("none.json", R"({"data": []})"), 1, "none.json");
  ExpectError(TrainFile("cut.json", R"({"data": [{"context": "a)"), 1, "cut.json");
  ExpectError(TrainFile("glue.json", R"({"sentence1": "good", "label": 1})"), 1, "glue.json");
  ExpectError(TrainFile("list.json", R"({"data": [1, 2]})"), 1, "list.json");
}

TEST_F(QaBadInputTest, TrainingOnQuestionsThatTeachNothing) {
  // No answers, and an answer that is nowhere in the context.
  ExpectError(TrainFile("open.json", Record(R"(, "id": "a")")), 1, "open.json");
  ExpectError(TrainFile("lost.json", Record(R"(, "id": "a", "answers": {"text": ["night"],
      "answer_start": [3]})")),
              1, "lost.json");
}

TEST_F(QaBadInputTest, EvaluationWithoutAnswers) {
  const Outcome outcome = Train({"--do_eval", "--validation_file", run_.Path("test.json")});
  ExpectError(outcome, 1, "test.json has no answers");
  EXPECT_TRUE(Contains(outcome.err, "--do_predict"));
}

TEST_F(QaBadInputTest, OverlapThatLeavesNoRoom) {
  ExpectError(Train({"--doc_stride", "21"}), 2, "--doc_stride is 21");
  ExpectError(Train({"--max_seq_length", "3", "--doc_stride", "0"}), 2, "--max_seq_length 3");
}

TEST_F(QaBadInputTest, QuestionsThatFillEveryWindow) {
  const Outcome outcome = Train({"--max_seq_length", "5", "--doc_stride", "1"});
  ExpectError(outcome, 1, "leave no room for their context");
  EXPECT_TRUE(Contains(outcome.err, "raise --max_seq_length"));
}

TEST_F(QaBadInputTest, QuestionThatFillsItsWindowIsLeftOutAndNamed) {
  run_.folder().Write(
      "mixed.json",
      "{\"data\": [" + Record(R"(, "id": "fits", "answers": {"text": ["day"],
                              "answer_start": [9]})") +
          R"(, {"id": "large", "question": "a b c a b c a b c a b c a b c a b c a b c a b c",
                              "context": "good day", "answers": {"text": ["day"], "answer_start": [5]}}]})");
  const Outcome outcome = Train({"--train_file", run_.Path("mixed.json"), "--validation_file",
                                 run_.Path("mixed.json"), "--do_eval"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.err, "1 of 2 questions (large)"));
  EXPECT_EQ(run_.Json("out/train_results.json")["train_samples"], 1);
  EXPECT_EQ(run_.Json("out/eval_predictions.json").size(), 2u);
}

TEST_F(QaBadInputTest, RepeatedIdsAreToldApart) {
  const std::string record = Record(R"(, "id": "a")");
  run_.folder().Write("twice.jsonl", record + "\n" + record + "\n");
  const Outcome outcome = Train({"--do_predict", "--test_file", run_.Path("twice.jsonl")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.err, "the id was there before"));
  EXPECT_TRUE(run_.Json("out/predict_predictions.json").contains("a#2"));
}

TEST_F(QaBadInputTest, BestModelByAMetricThatIsNotThere) {
  const Args best = {"--load_best_model_at_end",
                     "--eval_strategy",
                     "steps",
                     "--eval_steps",
                     "1",
                     "--save_steps",
                     "1"};
  const Outcome outcome = Train(best);
  ExpectError(outcome, 2, "no eval_loss");
  EXPECT_TRUE(Contains(outcome.err, "known are exact_match, f1"));
  ExpectError(Train(best + Args{"--metric_for_best_model", "accuracy"}), 2, "no eval_accuracy");
  ExpectError(
      Train(best + Args{"--metric_for_best_model", "exact_match", "--version_2_with_negative"}), 2,
      "no eval_exact_match");
}

TEST_F(QaBadInputTest, ValuesOutOfRangeAreNamed) {
  for (const Args& wrong : std::vector<Args>{{"--n_best_size", "0"},
                                             {"--max_answer_length", "0"},
                                             {"--doc_stride", "-1"},
                                             {"--null_score_diff_threshold", "much"}}) {
    const Outcome outcome = Train(wrong);
    EXPECT_EQ(outcome.code, 2) << wrong[0];
    EXPECT_TRUE(Contains(outcome.err, "error: " + wrong[0])) << wrong[0];
  }
}

TEST_F(QaBadInputTest, LabelSmoothingAndWorkersChangeNothing) {
  const Outcome outcome =
      Train({"--label_smoothing_factor", "0.1", "--preprocessing_num_workers", "4"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.err, "--label_smoothing_factor changes nothing"));
  EXPECT_TRUE(Contains(outcome.err, "--preprocessing_num_workers changes nothing"));
}

}  // namespace
}  // namespace hagane::cli
