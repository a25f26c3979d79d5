// optimizer.safetensors of a checkpoint.
#include "fuzz/input.h"
#include "io/checkpoint.h"

void hagane::fuzz::Read(std::string_view input) {
  static const Folder folder;
  folder.Write("optimizer.safetensors", input);
  const io::OptimizerState state(folder.path());
  Require(state.step() >= 0);
  std::vector<float> exp_avg(2), exp_avg_sq(2);
  state.Read("w", exp_avg, exp_avg_sq);
}
