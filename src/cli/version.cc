#include "cli/version.h"

#include <fmt/format.h>

#include "base/isa.h"

namespace hagane::cli {

std::string ProgramVersion() { return HAGANE_VERSION; }

std::string VersionText() {
  const CpuFeatures cpu = DetectCpu();
  std::string levels;
  for (const Isa isa : SupportedIsas(cpu)) {
    levels += fmt::format("{}{}", levels.empty() ? "" : ", ", IsaName(isa));
  }
  const std::string commit = HAGANE_COMMIT;
  return fmt::format(
      "hagane {}{}\ncpu: {} ({})\ninstruction sets: {}\nmatrix products: oneDNN {}\nprocesses: "
      "one\n",
      HAGANE_VERSION, commit.empty() ? "" : fmt::format(" (commit {})", commit), cpu.model_name,
      cpu.Describe(), levels, HAGANE_ONEDNN_VERSION);
}

}  // namespace hagane::cli
