// A process of the run no longer answers.
#pragma once

#include "base/error.h"

namespace hagane::comm {

// Names rank, host and what was waited for. The messages of the run cannot go on.
class PeerLost : public Error {
 public:
  using Error::Error;
};

}  // namespace hagane::comm
