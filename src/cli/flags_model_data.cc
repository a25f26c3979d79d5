// The model and data arguments of run_glue, and hagane's own flags.
#include "cli/flag.h"

namespace hagane::cli {

std::vector<Flag> ModelAndDataFlags() {
  using enum FlagType;
  using enum FlagUse;
  using enum FlagGroup;
  return {
      {"model_name_or_path",
       kString,
       "",
       kModel,
       "model folder, or hub id in the local cache",
       kUsed,
       {},
       {},
       true},
      {"config_name", kString, "", kModel, "another folder or hub id for config.json"},
      {"tokenizer_name", kString, "", kModel, "another folder or hub id for the tokenizer"},
      {"cache_dir", kString, "", kModel, "root of the hub cache"},
      {"model_revision", kString, "main", kModel, "branch, tag or commit of the hub id"},
      {"ignore_mismatched_sizes", kBool, "False", kModel,
       "make head tensors of another shape anew instead of stopping"},
      {"use_fast_tokenizer", kBool, "True", kModel, "the fast tokenizer's results are always given",
       kIgnored},
      {"use_auth_token", kBool, "False", kModel, "nothing is downloaded", kIgnored},
      {"token",
       kString,
       "",
       kModel,
       "nothing is downloaded, the token is not used",
       kIgnored,
       {},
       {},
       false,
       true},
      {"trust_remote_code", kBool, "False", kModel, "code of a model folder is never executed",
       kRefused},

      {"task_name",
       kString,
       "",
       kData,
       "GLUE task: cola mnli mrpc qnli qqp rte sst2 stsb wnli",
       kUsed,
       {},
       {},
       true},
      {"dataset_name", kString, "", kData,
       "hub datasets cannot be read yet; give --train_file and --validation_file, or --task_name "
       "with --data_dir",
       kRefused},
      {"dataset_config_name", kString, "", kData, "goes with --dataset_name", kIgnored},
      {"train_file",
       kString,
       "",
       kData,
       "own data: .csv, .tsv, .json or .jsonl",
       kUsed,
       {},
       {},
       true},
      {"validation_file", kString, "", kData, "own data to evaluate on", kUsed, {}, {}, true},
      {"test_file", kString, "", kData, "own data to predict", kUsed},
      {"max_seq_length", kInt, "128", kData, "longer inputs are cut", kUsed, {}, {}, true},
      {"pad_to_max_length", kBool, "True", kData, "nothing is ever padded", kNoOp},
      {"overwrite_cache", kBool, "False", kData, "tokenise anew"},
      {"max_train_samples", kInt, "", kData, "first rows only, before shuffling"},
      {"max_eval_samples", kInt, "", kData, "first rows only"},
      {"max_predict_samples", kInt, "", kData, "first rows only"},
  };
}

std::vector<Flag> HaganeFlags() {
  using enum FlagType;
  using enum FlagUse;
  using enum FlagGroup;
  return {
      {"data_dir",
       kString,
       "",
       kHagane,
       "folder of the GLUE task (train.tsv, dev.tsv, ...) or its parent",
       kUsed,
       {},
       {},
       true},
      {"init_from_scratch", kBool, "False", kHagane, "read no weights: a new model of config.json"},
      {"no_resume", kBool, "False", kHagane,
       "with --overwrite_output_dir: do not continue an unfinished run"},
      {"isa",
       kString,
       "",
       kHagane,
       "instruction set, default: the best of this CPU",
       kUsed,
       {},
       {"ref", "avx2", "avx512"}},
      {"threads", kInt, "0", kHagane, "0: one for each physical core"},
      {"dry_run", kBool, "False", kHagane, "load, estimate memory and time, exit"},
      {"json", kBool, "False", kHagane, "stdout holds one JSON object with the results"},
      {"print_config", kBool, "False", kHagane, "print all arguments as JSON and exit"},
      {"help", kBool, "False", kHagane, "the flags that matter most"},
      {"help_all", kBool, "False", kHagane, "all flags"},
  };
}

std::vector<Flag> RunGlueFlags() {
  std::vector<Flag> all = ModelAndDataFlags();
  for (auto part : {TrainingFlags(), AcceptedFlags(), HaganeFlags()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace hagane::cli
