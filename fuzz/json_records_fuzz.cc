// JSON lines, an array of records, one object around it, records one after the other.
#include <nlohmann/json.hpp>

#include "data/json_records.h"
#include "fuzz/input.h"

void hagane::fuzz::Read(std::string_view input) {
  const MemoryFile file(input);
  data::JsonRecords records(file.path());
  nlohmann::ordered_json record;
  size_t count = 0;
  int64_t line = 1;
  while (records.Next(&record)) {
    Require(record.is_object() && records.line() >= line);
    line = records.line();
    ++count;
  }
  Require(2 * count <= input.size());  // "{}" is the shortest record
  records.Member("version");
}
