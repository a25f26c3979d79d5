#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace hagane {

void CheckFailed(const char* file, int line, const char* condition, std::string_view detail) {
  std::fprintf(stderr, "hagane: internal error at %s:%d: %s does not hold%s%.*s\n", file, line,
               condition, detail.empty() ? "" : ": ", static_cast<int>(detail.size()),
               detail.data());
  std::abort();
}

}  // namespace hagane
