// CSV and TSV: the first byte of the input chooses. Reads every row to the end.
#include "base/error.h"
#include "data/delimited.h"
#include "fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const hagane::fuzz::MemoryFile file(data + 1, size - 1);
  try {
    hagane::data::DelimitedReader reader(
        file.path(), data[0] % 2 == 0 ? hagane::data::kCsv : hagane::data::kTsv);
    size_t read = 0;
    while (reader.Next()) {
      for (const std::string_view cell : reader.cells()) read += cell.size();
    }
    if (read > size) abort();  // cells are parts of the file
  } catch (const hagane::Error&) {
  }
  return 0;
}
