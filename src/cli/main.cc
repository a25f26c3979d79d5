#include <malloc.h>

#include "cli/cli.h"

namespace {

// oneDNN's products allocate and free their packing buffers in each call. glibc would give blocks
// of that size back to the kernel every time and the next call would pay for fresh zeroed pages (a
// seventh of a training step, measured on a virtual machine), so freed memory is kept.
void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

}  // namespace

int main(int argc, char** argv) {
  KeepFreedMemory();
  return hagane::cli::Main({argv + (argc > 0 ? 1 : 0), argv + argc},
                           hagane::cli::StandardStreams());
}
