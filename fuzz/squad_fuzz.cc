// Question answering data in any of its forms, and that every span it grants lies in its context.
#include "base/log.h"
#include "data/code_points.h"
#include "data/squad.h"
#include "fuzz/input.h"

void hagane::fuzz::Read(std::string_view input) {
  const unsigned choice = TakeByte(input);
  const data::QaUse use = choice % 3 == 0   ? data::QaUse::kTrain
                          : choice % 3 == 1 ? data::QaUse::kPredict
                                            : data::QaUse::kScore;
  const MemoryFile file(input);
  NullLog log;
  const data::QaDataset dataset = data::ReadSquad(file.path(), {"input", use, {}}, log);
  int32_t last = 0;
  for (const data::QaExample& example : dataset.examples) {
    Require(example.context >= last);
    last = example.context;
    if (example.target != data::QaTarget::kSpan) continue;
    const data::CodePoints context(dataset.context(example));
    Require(context.Slice(example.target_begin, example.target_end) == example.answers.at(0));
  }
  Require(static_cast<size_t>(last) + 1 == dataset.contexts.size());
}
