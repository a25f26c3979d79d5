#include "io/json.h"

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/io/temporary_folder.h"

namespace hagane::io {
namespace {

using Json = nlohmann::ordered_json;

std::string ErrorIn(const std::string& text, JsonLimits limits = kConfigLimits) {
  return ErrorOf([&] { ParseJson(text, "c.json", limits); });
}

TEST(ParseJson, KeepsKeyOrderAndKindsOfNumbers) {
  const Json json =
      ParseJson("\xef\xbb\xbf{\"b\": 1, \"a\": [1.0, -2, 18446744073709551615, true, null]}",
                "c.json", kConfigLimits);
  EXPECT_EQ(json.begin().key(), "b");
  EXPECT_TRUE(json["b"].is_number_integer());
  EXPECT_TRUE(json["a"][0].is_number_float());
  EXPECT_EQ(json["a"][1], -2);
  EXPECT_EQ(json["a"][2].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(json.dump(), R"({"b":1,"a":[1.0,-2,18446744073709551615,true,null]})");
}

TEST(ParseJson, BuildsWhatTheLibraryBuilds) {
  const std::string text =
      R"({"a":{},"b":[],"c":[[],[{"d":[1,[2,{"e":"f"}]]}],"x"],"":"","é":"\u00e9\ud83e\udd8a"})";
  EXPECT_EQ(ParseJson(text, "", kConfigLimits), Json::parse(text));
}

TEST(ParseJson, NamesFileLineAndColumn) {
  EXPECT_TRUE(Contains(ErrorIn("{\n \"a\": 1,\n \"b\": x}"), "c.json:3:7:"));
  EXPECT_TRUE(Contains(ErrorIn("[1, 2"), "c.json:1:"));
  EXPECT_TRUE(Contains(ErrorIn(""), "c.json:1:1:"));
  EXPECT_TRUE(Contains(ErrorIn("[1] 2"), "c.json:1:5:"));
  EXPECT_TRUE(Contains(ErrorIn("\"\xff\""), "c.json:1:2:"));
  EXPECT_TRUE(Contains(ErrorIn("[1e999]"), "c.json:1:"));
}

TEST(ParseJson, NamesTheFilesLineAndColumnOfARecord) {
  const std::string file = "[1,\n 2, {\"a\":\n x}, {\"k\": 1, \"k\": 2}]";
  const auto error_in = [&](std::string_view record) -> std::string {
    const std::string_view whole = file;
    try {
      ParseJson(whole.substr(whole.find(record), record.size()), "c.json", kConfigLimits, whole);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_TRUE(Contains(error_in("{\"a\":\n x}"), "c.json:3:2: not valid"));
  EXPECT_TRUE(Contains(error_in("{\"k\": 1, \"k\": 2}"), "c.json:3: key"));
}

TEST(ParseJson, ShowsNoBytesThatAreNoText) {
  EXPECT_TRUE(Contains(ErrorIn("[\"caf\xc3\xa9 \xff\"]"), "caf\xc3\xa9 \\xff"));
  EXPECT_TRUE(Contains(ErrorIn("{\"\xc2\x9b\": 1, \"\xc2\x9b\": 2}"), "key \"\\xc2\\x9b\""));
}

TEST(ParseJson, RefusesDuplicateKeysAtAnyDepth) {
  EXPECT_TRUE(Contains(ErrorIn(R"({"a":1,"b":2,"a":3})"), "key \"a\" is there twice"));
  EXPECT_TRUE(Contains(ErrorIn(R"([{"x":{"k":1,"\u006b":1}}])"), "key \"k\" is there twice"));
  EXPECT_EQ(ErrorIn(R"([{"a":1},{"a":2,"b":{"a":3}}])"), "");
}

TEST(ParseJson, RefusesDeepNestingBeforeItCosts) {
  EXPECT_EQ(ErrorIn(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_TRUE(Contains(ErrorIn(std::string(65, '[') + std::string(65, ']')), "64 deep"));
  EXPECT_TRUE(Contains(ErrorIn(std::string(1'000'000, '[')), "64 deep"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_TRUE(Contains(ErrorIn(objects), "64 deep"));
}

TEST(ParseJson, RefusesTooManyBytesAndValues) {
  EXPECT_TRUE(Contains(ErrorIn("[1,2,3]", {6, 64}), "larger than"));
  EXPECT_TRUE(Contains(ErrorIn("[1,2,3]", {100, 64, 2}), "more than 2 values"));
  EXPECT_EQ(ErrorIn("[1,2,3]", {7, 64, 4}), "");
}

// nlohmann's own builder would need minutes: it searches all keys for each new one.
TEST(ParseJson, TakesLinearTimeForALargeObject) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i)
    text += "\"token" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  const Json json = ParseJson(text, "", kTokenizerLimits);
  EXPECT_EQ(json.size(), 300'000u);
  EXPECT_EQ(json.begin().value(), 0);
}

TEST(ParseJson, TakesPythonConstantsOnlyWhereAllowed) {
  const std::string text = R"({"loss": NaN, "best": -Infinity, "x": [Infinity, "NaN \" NaN", -1]})";
  EXPECT_NE(ErrorIn(text), "");
  const Json json = ParseJson(text, "", kTrainerStateLimits);
  EXPECT_TRUE(std::isnan(json["loss"].get<double>()));
  EXPECT_EQ(json["best"].get<double>(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(json["x"][0].get<double>(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(json["x"][1], "NaN \" NaN");
  EXPECT_EQ(json["x"][2], -1);
  EXPECT_NE(ErrorIn("[NaNa]", kTrainerStateLimits), "");
}

TEST(ReadJsonFile, ReadsTheRealOnes) {
  if (!std::filesystem::exists(SharedDir() / "data")) GTEST_SKIP() << "no shared data";
  const Json config =
      ReadJsonFile(SharedDir() / "data/fixtures/all-MiniLM-L6-v2/config.json", kConfigLimits);
  EXPECT_EQ(config["model_type"], "bert");
  const Json tokenizer =
      ReadJsonFile(SharedDir() / "data/vocab/roberta-base/tokenizer.json", kTokenizerLimits);
  EXPECT_EQ(tokenizer["model"]["vocab"].size(), 50265u);
}

// Made with Python 3.
TEST(PythonFloat, IsPythonsRepr) {
  const std::pair<double, const char*> cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-1.5, "-1.5"},
      {0.1, "0.1"},
      {1e-4, "0.0001"},
      {1e-5, "1e-05"},
      {1.2345e-5, "1.2345e-05"},
      {123456789.125, "123456789.125"},
      {1e15, "1000000000000000.0"},
      {9007199254740993.0, "9007199254740992.0"},
      {1e16, "1e+16"},
      {12345678901234567.0, "1.2345678901234568e+16"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {1e100, "1e+100"},
      {2.0 / 3, "0.6666666666666666"},
      {0.3f, "0.30000001192092896"},
      {100.0, "100.0"},
      {-2.5e-7, "-2.5e-07"},
      {std::numeric_limits<double>::infinity(), "inf"}};
  for (const auto& [value, expected] : cases) EXPECT_EQ(PythonFloat(value), expected);
}

TEST(PythonFloat, ReadsBackTheSame) {
  uint64_t bits = 0x9e3779b97f4a7c15u;
  for (int i = 0; i < 20'000; ++i) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    const double value = std::bit_cast<double>(bits);
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(std::strtod(PythonFloat(value).c_str(), nullptr), value);
  }
}

// Made with Python's json.dumps.
TEST(DumpPython, IsWhatJsonDumpsWrites) {
  const Json json = ParseJson(
      R"({"b":[1,[],{},[1.0,1e-5]],"a":{"z":null,"\u00e9":"\u20ac\ud83e\udd8a\u007f\u0001\"\\/\b\f\n\r\t"},"t":true})",
      "", kConfigLimits);
  EXPECT_EQ(
      DumpPython(json, 2, true),
      "{\n  \"a\": {\n    \"z\": null,\n    \"\\u00e9\": "
      "\"\\u20ac\\ud83e\\udd8a\\u007f\\u0001\\\"\\\\/\\b\\f\\n\\r\\t\"\n  },\n  \"b\": [\n    "
      "1,\n    [],\n    {},\n    [\n      1.0,\n      1e-05\n    ]\n  ],\n  \"t\": true\n}");
  EXPECT_EQ(DumpPython(ParseJson(R"({"b":[1,2],"a":{"c":"d"}})", "", kConfigLimits), -1, false),
            R"({"b": [1, 2], "a": {"c": "d"}})");
}

TEST(DumpPython, WritesConstantsAndOddBytesAsPythonDoes) {
  const Json json = {std::numeric_limits<double>::quiet_NaN(),
                     -std::numeric_limits<double>::infinity(), "a\xff"};
  EXPECT_EQ(DumpPython(json, -1, false), "[NaN, -Infinity, \"a\\udcff\"]");
}

}  // namespace
}  // namespace hagane::io
