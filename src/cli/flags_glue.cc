// What run_glue has beside the flags of every command.
#include "cli/flag.h"

namespace hagane::cli {

std::vector<Flag> RunGlueFlags() {
  using enum FlagType;
  using enum FlagUse;
  using enum FlagGroup;
  const std::vector<Flag> model = {
      {"ignore_mismatched_sizes", kBool, "False", kModel,
       "make head tensors of another shape anew instead of stopping"},
      {"use_fast_tokenizer", kBool, "True", kModel, "the fast tokenizer's results are always given",
       kIgnored},
  };
  const std::vector<Flag> data = {
      Common({"task_name", kString, "", kData,
              "GLUE task: cola mnli mrpc qnli qqp rte sst2 stsb wnli"}),
      {"dataset_name", kString, "", kData,
       "hub datasets cannot be read yet; give --train_file and --validation_file, or --task_name "
       "with --data_dir",
       kRefused},
      Common({"train_file", kString, "", kData, "own data: .csv, .tsv, .json or .jsonl"}),
      Common({"validation_file", kString, "", kData, "own data to evaluate on"}),
      {"test_file", kString, "", kData, "own data to predict"},
      Common({"max_seq_length", kInt, "128", kData, "longer inputs are cut"}),
  };
  const std::vector<Flag> own = {
      Common({"data_dir", kString, "", kHagane,
              "folder of the GLUE task (train.tsv, dev.tsv, ...) or its parent"}),
  };
  return Join({ModelFlags(), model, data, DataFlags(), TrainingFlags(), AcceptedFlags(), own,
               HaganeFlags()});
}

}  // namespace hagane::cli
