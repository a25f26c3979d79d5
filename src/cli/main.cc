#include "cli/cli.h"

int main(int argc, char** argv) {
  return hagane::cli::Main({argv + (argc > 0 ? 1 : 0), argv + argc},
                           hagane::cli::StandardStreams());
}
