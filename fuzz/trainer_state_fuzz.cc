// trainer_state.json, and that what was read survives being written.
#include <nlohmann/json.hpp>

#include "fuzz/input.h"
#include "io/checkpoint.h"
#include "io/json.h"
#include "train/trainer_state.h"

void hagane::fuzz::Read(std::string_view input) {
  static const Folder folder;
  folder.Write("trainer_state.json", input);
  const auto loaded = train::ReadTrainerState(folder.path());
  const auto json = train::ToJson(loaded.state);
  io::WriteTrainerState(folder.path(), json);
  const auto again = train::ToJson(train::ReadTrainerState(folder.path()).state);
  Require(io::DumpPython(again, 2, true) == io::DumpPython(json, 2, true));
}
