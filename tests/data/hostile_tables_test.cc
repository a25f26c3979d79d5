// Tables and records that want more memory than their texts: refused, at no more than their size
// and 64 MB.
#include <nlohmann/json.hpp>

#include "data/delimited.h"
#include "data/json_records.h"
#include "data/squad.h"
#include "data/squad_predictions.h"
#include "tests/data/test_files.h"
#include "tests/memory_cost.h"

namespace hagane::data {
namespace {

class HostileTables : public testing::Test {
 protected:
  testing::AssertionResult Refused(const std::string& name, const std::string& content,
                                   const std::string& reason) {
    const auto file = folder_.Write(name, content);
    return IsRefusedCheaply(file, reason, [&] {
      if (name.ends_with("sv")) {
        DelimitedReader reader(file, name.ends_with("csv") ? kCsv : kTsv);
        while (reader.Next()) {
        }
      } else {
        JsonRecords records(file);
        nlohmann::ordered_json record;
        while (records.Next(&record)) {
        }
      }
    });
  }
  TemporaryFolder folder_;
};

TEST_F(HostileTables, RowsOfSeparators) {
  EXPECT_TRUE(Refused("a.csv", std::string(30 << 20, ','), "more than 262144 columns"));
  EXPECT_TRUE(Refused("a.tsv", std::string(30 << 20, '\t'), "more than 262144 columns"));
  std::string quoted;
  for (int i = 0; i < 3'000'000; ++i) quoted += "\"\"\"\",";
  EXPECT_TRUE(Refused("a.csv", quoted, "more than 262144 columns"));
  EXPECT_TRUE(Refused("a.csv", "\"" + std::string(30 << 20, 'a'), "never ends"));
}

TEST_F(HostileTables, RecordsOfValues) {
  std::string values = "{\"a\":[";
  for (int i = 0; i < 5'000'000; ++i) values += "1,";
  EXPECT_TRUE(Refused("a.json", values + "1]}", "more than 524288 values"));
  EXPECT_TRUE(Refused("a.json",
                      "{\"a\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}",
                      "64 deep"));
  EXPECT_TRUE(Refused("a.json", std::string(1'000'000, '['), "has no end"));
  EXPECT_TRUE(Refused("a.json", "{\"a\":\"" + std::string(30 << 20, 'a') + "\"}", "larger than"));
}

}  // namespace
}  // namespace hagane::data
