// Question answering data in any of its forms, and that every span it grants lies in its context.
#include "base/error.h"
#include "data/code_points.h"
#include "data/squad.h"
#include "fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hagane;
  const fuzz::MemoryFile file(data, size);
  NullLog log;
  for (const data::QaUse use : {data::QaUse::kTrain, data::QaUse::kPredict}) {
    try {
      const data::QaDataset dataset = data::ReadSquad(file.path(), {"input", use, {}}, log);
      int32_t last = 0;
      for (const data::QaExample& example : dataset.examples) {
        if (example.context < last) abort();
        last = example.context;
        if (example.target != data::QaTarget::kSpan) continue;
        const data::CodePoints context(dataset.context(example));
        if (context.Slice(example.target_begin, example.target_end) != example.answers.at(0))
          abort();
      }
      if (static_cast<size_t>(last) + 1 != dataset.contexts.size()) abort();
    } catch (const Error&) {
    }
  }
  return 0;
}
