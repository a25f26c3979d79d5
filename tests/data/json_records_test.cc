#include "data/json_records.h"

#include <nlohmann/json.hpp>

#include "tests/data/test_files.h"

namespace hagane::data {
namespace {

class Records : public ::testing::Test {
 protected:
  // The values of "a" with their lines: "1@1 2@2".
  std::string Read(std::string_view content) {
    JsonRecords records(folder_.Write("a.json", content));
    nlohmann::ordered_json record;
    std::string all;
    while (records.Next(&record)) {
      all +=
          (all.empty() ? "" : " ") + record.at("a").dump() + "@" + std::to_string(records.line());
    }
    return all;
  }
  TemporaryFolder folder_;
};

TEST_F(Records, AllFormsGiveTheSameRecords) {
  EXPECT_EQ(Read("{\"a\":1}\n{\"a\":2}\n"), "1@1 2@2");
  EXPECT_EQ(Read("\xEF\xBB\xBF{\"a\":1}\r\n\r\n{\"a\":2}"), "1@1 2@3");
  EXPECT_EQ(Read("[{\"a\":1},\n{\"a\":2}]\n"), "1@1 2@2");
  EXPECT_EQ(Read("{\"version\": {\"x\": [\"}\"]}, \"data\": [\n{\"a\":1},{\"a\":2}], \"b\": 0}"),
            "1@2 2@2");
  EXPECT_EQ(Read("{\n\"a\":1\n}\n{\n\"a\":2\n}\n"), "1@1 2@4");
  EXPECT_EQ(Read("{\"a\":1}"), "1@1");
}

TEST_F(Records, BracketsAndQuotesInsideTextsDoNotCount) {
  EXPECT_EQ(Read("[{\"a\":\"]}\\\"\"},{\"a\":[\"{\",[]]}]"), "\"]}\\\"\"@1 [\"{\",[]]@1");
}

TEST_F(Records, AnEmptyFileOrArrayHasNone) {
  EXPECT_EQ(Read(""), "");
  EXPECT_EQ(Read(" \n"), "");
  EXPECT_EQ(Read("[ ]"), "");
  EXPECT_EQ(Read("{\"data\": []}"), "");
}

TEST_F(Records, WhatIsBrokenIsNamedWithItsLine) {
  ExpectError([&] { Read("{\"a\":1}\n{\"a\":\n"); }, {"a.json:2:", "JSON"});
  ExpectError([&] { Read("[{\"a\":1},\n{\"a\":2"); }, {"a.json:2:", "no end"});
  ExpectError([&] { Read("[{\"a\":1}\n{\"a\":2}]"); }, {"a.json:2:", "comma"});
  ExpectError([&] { Read("[{\"a\":1},\n]"); }, {"a.json:2:"});
  ExpectError([&] { Read("[{\"a\":1}"); }, {"a.json:1:", "no end"});
  ExpectError([&] { Read("[{\"a\":1}]\n[]"); }, {"behind the array"});
  ExpectError([&] { Read("1\n2\n"); }, {"a.json:1:", "expected a JSON object, found 1"});
  ExpectError([&] { Read("sentence1,label\n"); }, {"a.json:1:"});
  ExpectError([&] { Read("{\n\"a\":1\n}\n}\n"); }, {"a.json:4:"});
}

TEST_F(Records, ManyNestedBracketsAreRefused) {
  ExpectError([&] { Read("{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}"); },
              {"a.json:1"});
}

}  // namespace
}  // namespace hagane::data
