// What hostile files may cost: no more than their size and 64 MB, and no look at, or change of,
// anything beside them. That they are refused, and why, is in the tests of each reader.
#include <fcntl.h>

#include "io/file_system.h"
#include "io/model_folder.h"
#include "io/tensor_file.h"
#include "tests/io/temporary_folder.h"
#include "tests/io/torch_bin_builder.h"
#include "tests/memory_cost.h"

namespace hagane::io {
namespace {

namespace fs = std::filesystem;

std::string Repeat(const std::string& text, size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// {"<0>":value,"<1>":value, ...}
std::string Members(size_t count, const std::string& value) {
  std::string all = "{";
  for (size_t i = 0; i < count; ++i) all += "\"" + std::to_string(i) + "\":" + value + ",";
  all.back() = '}';
  return all;
}

std::string WithHeader(const std::string& header) { return Little(header.size()) + header; }

class HostileFiles : public testing::Test {
 protected:
  testing::AssertionResult Refused(const std::string& name, const std::string& content,
                                   const std::string& reason) {
    const fs::path file = folder_.Write(name, content);
    return IsRefusedCheaply(file, reason, [&] {
      name == "config.json" ? void(ModelConfig::Read(folder_.path()))
                            : void(OpenModelWeights(folder_.path()));
    });
  }
  TemporaryFolder folder_;
};

TEST_F(HostileFiles, Safetensors) {
  const std::string name = "model.safetensors";
  EXPECT_TRUE(Refused(name, Little(uint64_t{1} << 63) + "{}", "header of 9223372036854775808"));
  EXPECT_TRUE(Refused(name, WithHeader("{\"a\":" + Repeat("[", 1'000'000)), "out of place"));
  EXPECT_TRUE(Refused(name, WithHeader("{\"a\":" + Repeat("1", 99 << 20) + "}"), "too long"));
  EXPECT_TRUE(Refused(
      name, WithHeader(Members(500'000, R"({"dtype":"U8","shape":[0,0],"data_offsets":[0,0]})")),
      "too many tensors"));
  EXPECT_TRUE(Refused(name, WithHeader(R"({"__metadata__":)" + Members(2'000'000, R"("")") + "}"),
                      "too long"));
}

TEST_F(HostileFiles, TorchBin) {
  const std::string name = "pytorch_model.bin";
  const auto refused = [&](const std::string& pickle, const std::string& reason) {
    return Refused(name, ZipBin(pickle, ""), reason);
  };
  EXPECT_TRUE(refused(Repeat("]", 10'000'000), "too many"));
  EXPECT_TRUE(refused(Repeat("(", 10'000'000), "too many marks"));
  EXPECT_TRUE(refused(Repeat("N", 10'000'000), "too many values"));
  EXPECT_TRUE(refused(std::string("Nr\xff\xff\xff\xff", 6), "memo"));
  EXPECT_TRUE(refused(std::string("Nr\xff\xff\x03\x00", 6) + "N", "left over"));
  // A list of the list itself, eight times, again and again.
  EXPECT_TRUE(refused(
      std::string("]q\0", 3) + Repeat(std::string("(h\0h\0h\0h\0h\0h\0h\0h\0e", 18), 300'000),
      "too many values"));
  // A dict with the same values many times, each as a container of its own.
  EXPECT_TRUE(refused("]" + Repeat("(NNt", 1'000'000) + "e", "too many"));
  EXPECT_TRUE(refused(std::string("X\xff\xff\xff\x7f", 5), "ends too early"));
  const std::string tensor = pickle::Tensor(pickle::Storage("FloatStorage", "0", 2), 0,
                                            {int64_t{1} << 40, int64_t{1} << 22}, {0, 0});
  EXPECT_TRUE(Refused(name, ZipBin(pickle::Dict(pickle::Text("w") + tensor), std::string(8, '\0')),
                      "impossible"));
  const std::string expanded =
      pickle::Tensor(pickle::Storage("FloatStorage", "0", 2), 0, {int64_t{1} << 30}, {0});
  EXPECT_TRUE(Refused(
      name, ZipBin(pickle::Dict(pickle::Text("w") + expanded), std::string(8, '\0')), "expanded"));

  std::vector<ZipPart> parts(40'000);
  for (size_t i = 0; i < parts.size(); ++i) parts[i].name = "m/" + std::to_string(i);
  EXPECT_TRUE(Refused(name, Zip(parts), "no data.pkl"));
}

TEST_F(HostileFiles, Json) {
  EXPECT_TRUE(Refused("config.json", Repeat("[", 1'000'000), "64 deep"));
  EXPECT_TRUE(Refused("config.json", Repeat("[", 2'000'000), "larger than"));
  EXPECT_TRUE(Refused("config.json", "[" + Repeat("1,", 500'000) + "1]", "not a JSON object"));
  const std::string index = "model.safetensors.index.json";
  EXPECT_TRUE(Refused(index, Repeat("[", 1'000'000), "64 deep"));
  EXPECT_TRUE(Refused(index, Repeat("{\"a\":", 1'000'000), "64 deep"));
  EXPECT_TRUE(Refused(index, "[" + Repeat("1,", 30'000'000) + "1]", "more than"));
  EXPECT_TRUE(Refused(index, Members(5'000'000, "1"), "more than"));
  EXPECT_TRUE(Refused(index, "{\"weight_map\":" + Members(130'000, "\"s\"") + "}", "the shard s"));
  EXPECT_TRUE(Refused(index, "\"" + Repeat("a", 60 << 20) + "\"", "more than 8 MB"));
}

// Refuses to change anything, and keeps what is opened.
class WatchedFiles : public FileSystem {
 public:
  std::vector<fs::path> opened;
  int changes = 0;

  int Open(const char* path, int flags, unsigned mode) override {
    if ((flags & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC)) != 0) return Refuse();
    opened.emplace_back(path);
    return FileSystem::Open(path, flags, mode);
  }
  ssize_t Write(int, const void*, size_t) override { return Refuse(); }
  ssize_t WriteAt(int, const void*, size_t, int64_t) override { return Refuse(); }
  int Rename(const char*, const char*, unsigned) override { return Refuse(); }
  int MakeFolder(const char*, unsigned) override { return Refuse(); }
  int RemoveFile(const char*) override { return Refuse(); }
  int RemoveFolder(const char*) override { return Refuse(); }

 private:
  int Refuse() {
    ++changes;
    errno = EPERM;
    return -1;
  }
};

TEST_F(HostileFiles, NothingElseIsOpenedOrChanged) {
  folder_.Write("secret", ZipBin("", ""));
  const fs::path model = folder_.path() / "m";
  folder_.Write("m/a.safetensors", WithHeader("{}"));
  fs::create_symlink("../secret", model / "link");
  fs::create_symlink("link", model / "link_to_link");
  fs::create_directory_symlink("..", model / "up");
  std::vector<std::pair<std::string, std::string>> files;
  for (const char* shard :
       {"../secret", "..", "link", "link_to_link", "up", "up/secret", "/dev/zero",
        "a.safetensors/../../secret", "./a.safetensors", "m\\u0000"}) {
    files.emplace_back("model.safetensors.index.json",
                       R"({"weight_map":{"w":")" + std::string(shard) + "\"}}");
  }
  using pickle::Global, pickle::Text, pickle::Tuple;
  for (const std::string& call :
       {Global("os", "system") + Tuple(Text("touch secret2")) + "R",
        Global("builtins", "open") + Tuple(Text("secret2") + Text("w")) + "R",
        Global("builtins", "eval") + Tuple(Text("1")) + "R",
        Global("subprocess", "Popen") + Tuple(Text("true")) + "R",
        Global("numpy", "fromfile") + Tuple(Text("../secret")) + "R",
        Global("torch", "load") + Tuple(Text("../secret")) + "R",
        Global("torch.storage", "_load_from_bytes") + Tuple(Text("x")) + "R",
        Global("collections", "OrderedDict") + Tuple(Text("x")) + "R",
        pickle::Storage("FloatStorage", "../../secret", 2)}) {
    files.emplace_back("pytorch_model.bin", ZipBin(pickle::Dict(Text("w") + call), ""));
  }
  for (const auto& [name, content] : files) {
    const fs::path file = folder_.Write("m/" + name, content);
    const std::vector<std::string> names = folder_.Names();
    WatchedFiles watched;
    {
      const ScopedFileSystem scoped(&watched);
      EXPECT_NE(ErrorOf([&] { OpenModelWeights(model); }), "") << content;
    }
    EXPECT_EQ(watched.opened, std::vector<fs::path>{file}) << content;
    EXPECT_EQ(watched.changes, 0);
    EXPECT_EQ(folder_.Names(), names);
    fs::remove(file);
  }
}

}  // namespace
}  // namespace hagane::io
