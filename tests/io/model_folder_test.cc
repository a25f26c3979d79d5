#include "io/model_folder.h"

#include <nlohmann/json.hpp>

#include "io/json.h"
#include "io/tensor_file.h"
#include "tests/io/temporary_folder.h"

namespace hagane::io {
namespace {

namespace fs = std::filesystem;

ModelConfig Config(const std::string& text) {
  return ModelConfig(ParseJson(text, "m/config.json", kConfigLimits), "m/config.json");
}

TEST(ModelConfig, GivesValuesAndFallbacks) {
  const ModelConfig config = Config(
      R"({"model_type":"bert","hidden_size":20,"eps":1e-12,"one":1,"flag":true,"none":null,"name":"x"})");
  EXPECT_EQ(config.GetInt("hidden_size", 768), 20);
  EXPECT_EQ(config.GetInt("layers", 12), 12);
  EXPECT_EQ(config.GetInt("none", 12), 12);
  EXPECT_FALSE(config.Has("none"));
  EXPECT_EQ(config.GetNumber("eps", 0), 1e-12);
  EXPECT_EQ(config.GetNumber("one", 0), 1.0);
  EXPECT_TRUE(config.GetBool("flag", false));
  EXPECT_EQ(config.GetString("name", ""), "x");
  const std::string_view supported[] = {"distilbert", "bert"};
  EXPECT_EQ(config.ModelType(supported), "bert");
}

TEST(ModelConfig, NamesFileAndKeyOfAWrongValue) {
  const ModelConfig config = Config(
      R"({"a":"20","b":20.0,"c":-1,"d":99999999999999999999,"e":18446744073709551615,"f":[1],"model_type":"t5"})");
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) {
    const std::string error = ErrorOf([&] { config.GetInt(key, 1); });
    EXPECT_TRUE(Contains(error, std::string("m/config.json: ") + key + " is "));
  }
  EXPECT_TRUE(Contains(ErrorOf([&] { config.RequireInt("z"); }), "m/config.json: z is missing"));
  EXPECT_NE(ErrorOf([&] { config.GetNumber("a", 1); }), "");
  EXPECT_NE(ErrorOf([&] { config.GetBool("b", true); }), "");
  EXPECT_NE(ErrorOf([&] { config.GetString("b", ""); }), "");
  const std::string_view supported[] = {"bert", "electra"};
  const std::string error = ErrorOf([&] { config.ModelType(supported); });
  EXPECT_TRUE(Contains(error, "models of type t5 are not supported"));
  EXPECT_TRUE(Contains(error, "bert, electra"));
  EXPECT_TRUE(Contains(ErrorOf([&] { Config("{}").ModelType(supported); }), "has no model_type"));
  EXPECT_NE(ErrorOf([] { Config("[]"); }), "");
}

TEST(ModelConfig, PutsLabelsInTheOrderOfTheirIds) {
  EXPECT_EQ(Config(R"({"id2label":{"1":"b","0":"a","2":3}})").Labels(),
            (std::vector<std::string>{"a", "b", "3"}));
  EXPECT_TRUE(Config("{}").Labels().empty());
  for (const char* bad :
       {R"({"id2label":{"1":"b"}})", R"({"id2label":{"x":"b"}})", R"({"id2label":["a"]})",
        R"({"id2label":{"0":"a","-1":"b"}})", R"({"id2label":{"0":"a","00":"b"}})"}) {
    EXPECT_TRUE(Contains(ErrorOf([&] { Config(bad).Labels(); }), "id2label")) << bad;
  }
}

TEST(ModelConfig, SaysWhatIsWrongWithTheFolder) {
  TemporaryFolder folder;
  EXPECT_TRUE(Contains(ErrorOf([&] { ModelConfig::Read(folder.path() / "x"); }), "does not exist"));
  EXPECT_TRUE(
      Contains(ErrorOf([&] { ModelConfig::Read(folder.path()); }), "it has no config.json"));
  folder.Write("config.json", "{\n\"model_type\": bert}");
  EXPECT_TRUE(Contains(ErrorOf([&] { ModelConfig::Read(folder.path()); }), "config.json:2:15"));
}

TEST(WriteModelConfig, KeepsEveryKeyAndSortsAsPythonDoes) {
  TemporaryFolder folder;
  nlohmann::ordered_json json = ParseJson(
      R"({"z":{"b":1e-12,"a":[{"d":1,"c":2}]},"odd":"é","id2label":{"10":"k","9":"j"},"label2id":{"k":10,"j":9}})",
      "", kConfigLimits);
  WriteModelConfig(folder.path(), json);
  EXPECT_EQ(ReadAll(folder.path() / "config.json"),
            "{\n  \"id2label\": {\n    \"9\": \"j\",\n    \"10\": \"k\"\n  },\n  \"label2id\": {\n "
            "   \"j\": "
            "9,\n    \"k\": 10\n  },\n  \"odd\": \"\\u00e9\",\n  \"z\": {\n    \"a\": [\n      {\n "
            "       "
            "\"c\": 2,\n        \"d\": 1\n      }\n    ],\n    \"b\": 1e-12\n  }\n}\n");
}

// transformers wrote these; writing what was read must give the same bytes.
TEST(WriteModelConfig, RewritesRealConfigsUnchanged) {
  if (!fs::exists(SharedDir() / "oracle/models")) GTEST_SKIP() << "no shared reference models";
  TemporaryFolder folder;
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(SharedDir() / "oracle/models")) {
    WriteModelConfig(folder.path(), ModelConfig::Read(entry.path()).raw());
    EXPECT_EQ(ReadAll(folder.path() / "config.json"), ReadAll(entry.path() / "config.json"))
        << entry.path();
    ++compared;
  }
  EXPECT_EQ(compared, 9);
}

TEST(CopyTokenizerFiles, CopiesWhatIsThere) {
  TemporaryFolder folder;
  folder.Write("from/vocab.txt", "[PAD]\n");
  folder.Write("blobs/abc", "{}");
  folder.Write("from/model.safetensors", "x");
  fs::create_symlink("../blobs/abc", folder.path() / "from/tokenizer.json");
  fs::create_directory(folder.path() / "to");
  EXPECT_EQ(CopyTokenizerFiles(folder.path() / "from", folder.path() / "to"),
            (std::vector<std::string>{"tokenizer.json", "vocab.txt"}));
  EXPECT_EQ(ReadAll(folder.path() / "to/tokenizer.json"), "{}");
  EXPECT_FALSE(fs::is_symlink(folder.path() / "to/tokenizer.json"));
  EXPECT_EQ(ReadAll(folder.path() / "to/vocab.txt"), "[PAD]\n");
  EXPECT_TRUE(CopyTokenizerFiles(folder.path() / "to", folder.path() / "from/../to").empty());
  EXPECT_EQ(ReadAll(folder.path() / "to/vocab.txt"), "[PAD]\n");
}

void WriteShard(const fs::path& path, const std::string& name, float value) {
  WriteSafetensors(path, {{name, DType::kF32, {1}, std::as_bytes(std::span(&value, 1))}},
                   {{"format", "pt"}});
}
std::string Index(const std::string& map) {
  return R"({"metadata":{"total_size":8},"weight_map":)" + map + "}";
}

TEST(OpenModelWeights, ReadsShards) {
  TemporaryFolder folder;
  WriteShard(folder.path() / "model-00001-of-00002.safetensors", "a", 1);
  WriteShard(folder.path() / "model-00002-of-00002.safetensors", "b", 2);
  folder.Write(
      "model.safetensors.index.json",
      Index(R"({"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"})"));
  const auto weights = OpenModelWeights(folder.path());
  EXPECT_EQ(weights->tensors().size(), 2u);
  float value = 0;
  CopyToFloat(*weights->Find("b"), std::span(&value, 1));
  EXPECT_EQ(value, 2);
}

TEST(OpenModelWeights, RefusesIndexesThatLie) {
  TemporaryFolder folder;
  fs::create_directory(folder.path() / "m");
  WriteShard(folder.path() / "m/s.safetensors", "a", 1);
  WriteShard(folder.path() / "secret.safetensors", "a", 1);
  const auto error_with = [&](const std::string& index) {
    folder.Write("m/model.safetensors.index.json", index);
    return ErrorOf([&] { OpenModelWeights(folder.path() / "m"); });
  };
  EXPECT_EQ(error_with(Index(R"({"a":"s.safetensors"})")), "");
  EXPECT_TRUE(Contains(error_with(Index(R"({"b":"s.safetensors"})")), "does not hold b"));
  EXPECT_TRUE(Contains(error_with(Index(R"({"a":"t.safetensors"})")), "cannot be opened"));
  for (const char* name :
       {"../secret.safetensors", "/etc/passwd", "..", ".", "", "x/s.safetensors", "s\\u0000"}) {
    EXPECT_TRUE(Contains(error_with(Index(std::string(R"({"a":")") + name + "\"}")),
                         "not the name of a file"))
        << name;
  }
  EXPECT_TRUE(Contains(error_with(Index(R"({"a":1})")), "no text"));
  EXPECT_TRUE(Contains(error_with(Index(R"({"a":"s.safetensors","a":"s.safetensors"})")), "twice"));
  EXPECT_TRUE(Contains(error_with("[]"), "weight_map"));
  EXPECT_TRUE(Contains(error_with("{}"), "weight_map"));
  fs::create_symlink("../secret.safetensors", folder.path() / "m/link.safetensors");
  EXPECT_TRUE(Contains(error_with(Index(R"({"a":"link.safetensors"})")), "a link out of"));
}

TEST(OpenModelWeights, FollowsLinksWithinARepositoryOfTheHubCache) {
  TemporaryFolder folder;
  const fs::path repository = folder.path() / "models--org--name",
                 snapshot = repository / "snapshots/abc";
  fs::create_directories(snapshot);
  fs::create_directories(repository / "blobs");
  WriteShard(repository / "blobs/123", "a", 1);
  WriteShard(folder.path() / "secret", "a", 1);
  fs::create_symlink("../../blobs/123", snapshot / "s.safetensors");
  folder.Write("models--org--name/snapshots/abc/model.safetensors.index.json",
               Index(R"({"a":"s.safetensors"})"));
  EXPECT_NE(OpenModelWeights(snapshot)->Find("a"), nullptr);
  fs::remove(snapshot / "s.safetensors");
  fs::create_symlink("../../../secret", snapshot / "s.safetensors");
  EXPECT_TRUE(Contains(ErrorOf([&] { OpenModelWeights(snapshot); }), "a link out of"));
}

TEST(OpenModelWeights, ListsTheNamesItLookedFor) {
  TemporaryFolder folder;
  const std::string error = ErrorOf([&] { OpenModelWeights(folder.path()); });
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"}) {
    EXPECT_TRUE(Contains(error, name));
  }
  folder.Write("tf_model.h5", "");
  EXPECT_TRUE(Contains(ErrorOf([&] { OpenModelWeights(folder.path()); }), "tf_model.h5"));
}

TEST(OpenModelWeights, ReadsTheCasesWithOtherTensorNames) {
  if (!fs::exists(SharedDir() / "cases")) GTEST_SKIP() << "no shared cases";
  for (const char* name : {"plain", "bert-prefix-gamma-beta", "module-bert-prefix"}) {
    EXPECT_EQ(
        OpenModelWeights(SharedDir() / "cases/BL-23-weight-key-names" / name)->tensors().size(),
        23u);
  }
}

}  // namespace
}  // namespace hagane::io
