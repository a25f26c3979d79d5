// What one fine-tuning command is asked to do, whatever its task, parsed into the structs of the
// rooms that do it. A task reads the flags of its own (task.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/log.h"
#include "cli/console.h"
#include "cli/flag_parser.h"
#include "cli/output_folder.h"
#include "data/text_dataset.h"
#include "train/options.h"

namespace hagane::cli {

struct ModelSource {
  std::string name_or_path;
  std::string config_name, tokenizer_name;  // empty: name_or_path
  std::string cache_dir, revision;
  bool init_from_scratch = false;
};

struct DataSource {
  data::OwnFiles files;
  data::SplitRequest splits;
  int max_seq_length = 128;
  bool overwrite_cache = false;
};

struct Presentation {
  bool progress_bar = true;  // where there is a terminal
  bool json = false;
  bool dry_run = false;
  Console::Level level = Console::Level::kAll;
};

struct RunArguments {
  ModelSource model;
  DataSource data;
  OutputFolder output;
  Presentation presentation;
  train::TrainOptions train;
  bool do_train = false, do_eval = false, do_predict = false;
  bool bf16 = false;
  bool bf16_full_eval = false;
  bool memory_check = true;  // stop before the first step where memory will not suffice
  std::string isa;
  int threads = 0;
  std::string all_arguments;  // as JSON, for output_dir
};

// Checks values against each other (spec 1.5) and warns, once each, of flags that change nothing.
// Throws a usage Error.
RunArguments MakeRunArguments(const ParsedFlags& flags, Log& log);

// The part that the training loop reads; output_dir and resume_from stay empty.
train::TrainOptions MakeTrainOptions(const ParsedFlags& flags);

}  // namespace hagane::cli
