// What run_qa has beside the flags of every command.
#include <algorithm>

#include "cli/flag.h"

namespace hagane::cli {

std::vector<Flag> RunQaFlags() {
  using enum FlagType;
  using enum FlagUse;
  using enum FlagGroup;
  const std::vector<Flag> data = {
      {"dataset_name", kString, "", kData,
       "data set of JSON files in the local hub cache, instead of the files"},
      Common({"train_file", kString, "", kData, "questions to train on: SQuAD's JSON, or records"}),
      Common({"validation_file", kString, "", kData, "questions to evaluate on"}),
      Common({"test_file", kString, "", kData, "questions to answer; needs no answers"}),
      Common({"max_seq_length", kInt, "384", kData, "tokens of a window, question included"}),
      Common({"doc_stride", kInt, "128", kData, "tokens that neighbouring windows share"}),
      Common({"version_2_with_negative", kBool, "False", kData,
              "some questions have no answer (SQuAD 2.0)"}),
      {"null_score_diff_threshold", kFloat, "0.0", kEvaluation,
       "no answer is given when its score exceeds the best answer's by more"},
      {"n_best_size", kInt, "20", kEvaluation, "candidates kept for each question"},
      {"max_answer_length", kInt, "30", kEvaluation, "tokens of an answer"},
      {"preprocessing_num_workers", kInt, "", kData, "all threads are used", kIgnored},
  };
  std::vector<Flag> all =
      Join({ModelFlags(), data, DataFlags(), TrainingFlags(), AcceptedFlags(), HaganeFlags()});
  for (Flag& flag : all) {
    if (flag.name != "label_smoothing_factor") continue;
    flag.use = kIgnored;
    flag.group = kAccepted;
    flag.help = "answers are not smoothed, in the reference neither";
  }
  return all;
}

}  // namespace hagane::cli
