// Streams that keep what is written, and the program run on them.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/console.h"

namespace hagane::cli {

class CapturedStreams {
 public:
  explicit CapturedStreams(bool terminal = false, int width = 80)
      : streams_{in_, out_, err_, terminal, false, width} {}

  const Streams& get() const { return streams_; }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

 private:
  std::istringstream in_;
  std::ostringstream out_, err_;
  Streams streams_;
};

struct Outcome {
  int code = 0;
  std::string out, err;
};

inline Outcome RunProgram(const std::vector<std::string>& args) {
  CapturedStreams streams;
  Outcome outcome;
  outcome.code = Main(args, streams.get());
  outcome.out = streams.out();
  outcome.err = streams.err();
  return outcome;
}

}  // namespace hagane::cli
