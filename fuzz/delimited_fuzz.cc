// CSV and TSV, the first byte chooses: every row to the end.
#include "data/delimited.h"
#include "fuzz/input.h"

void hagane::fuzz::Read(std::string_view input) {
  const data::Delimiter delimiter = TakeByte(input) % 2 == 0 ? data::kCsv : data::kTsv;
  const MemoryFile file(input);
  data::DelimitedReader reader(file.path(), delimiter);
  size_t read = 0;
  int64_t line = 0;
  while (reader.Next()) {
    Require(reader.line() > line);
    line = reader.line();
    for (const std::string_view cell : reader.cells()) read += cell.size();
  }
  Require(read <= input.size());  // cells are parts of the file
}
