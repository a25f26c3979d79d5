// The model and data arguments that every fine-tuning command has, and hagane's own flags.
#include "cli/flag.h"

namespace hagane::cli {

std::vector<Flag> ModelFlags() {
  using enum FlagType;
  using enum FlagUse;
  using enum FlagGroup;
  return {
      Common({"model_name_or_path", kString, "", kModel,
              "model folder, or hub id in the local cache"}),
      {"config_name", kString, "", kModel, "another folder or hub id for config.json"},
      {"tokenizer_name", kString, "", kModel, "another folder or hub id for the tokenizer"},
      {"cache_dir", kString, "", kModel, "root of the hub cache"},
      {"model_revision", kString, "main", kModel, "branch, tag or commit of the hub id"},
      {"use_auth_token", kBool, "False", kModel, "nothing is downloaded", kIgnored},
      {.name = "token",
       .group = kModel,
       .help = "nothing is downloaded, the token is not used",
       .use = kIgnored,
       .secret = true},
      {"trust_remote_code", kBool, "False", kModel, "code of a model folder is never executed",
       kRefused},
  };
}

std::vector<Flag> DataFlags() {
  using enum FlagType;
  using enum FlagUse;
  using enum FlagGroup;
  return {
      {"dataset_config_name", kString, "", kData, "goes with --dataset_name", kIgnored},
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
      {"init_from_scratch", kBool, "False", kHagane, "read no weights: a new model of config.json"},
      {"no_resume", kBool, "False", kHagane,
       "with --overwrite_output_dir: do not continue an unfinished run"},
      {"background_save", kBool, "True", kHagane,
       "write checkpoints while training goes on; needs memory for a copy of the state"},
      {"memory_check", kBool, "True", kHagane,
       "stop before the first step where memory will not suffice"},
      {.name = "nan_policy",
       .default_text = "stop",
       .group = kHagane,
       .help = "an update whose loss or gradient is NaN or infinite: stop before it, or skip it",
       .choices = {"stop", "skip"}},
      {"resume_despite_changes", kBool, "False", kHagane,
       "resume although data, start weights or schedule are other ones"},
      {.name = "isa",
       .group = kHagane,
       .help = "instruction set, default: the best of this CPU",
       .choices = {"ref", "avx2", "avx512"}},
      {"threads", kInt, "0", kHagane, "0: one for each physical core"},
      {"dry_run", kBool, "False", kHagane, "load, estimate memory and time, exit"},
      {"json", kBool, "False", kHagane, "stdout holds one JSON object with the results"},
      {"print_config", kBool, "False", kHagane, "print all arguments as JSON and exit"},
      {"help", kBool, "False", kHagane, "the flags that matter most"},
      {"help_all", kBool, "False", kHagane, "all flags"},
  };
}

Flag Common(Flag flag) {
  flag.common = true;
  return flag;
}

std::vector<Flag> Join(const std::vector<std::vector<Flag>>& parts) {
  std::vector<Flag> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace hagane::cli
