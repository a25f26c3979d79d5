#include <bit>
#include <cstring>
#include <map>

#include "io/tensor_file.h"
#include "tests/io/temporary_folder.h"

namespace hagane::io {
namespace {

namespace fs = std::filesystem;

std::string WithLength(uint64_t length, const std::string& rest) {
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + rest;
}
std::string File(const std::string& header, const std::string& data) {
  return WithLength(header.size(), header + data);
}

class Safetensors : public testing::Test {
 protected:
  std::string ErrorIn(const std::string& content) {
    const fs::path path = folder_.Write("m.safetensors", content);
    const std::string error = ErrorOf([&] { OpenSafetensors(path); });
    EXPECT_TRUE(error.empty() || Contains(error, path.string()));
    return error;
  }
  TemporaryFolder folder_;
};

TEST_F(Safetensors, RoundTripKeepsEverything) {
  const std::vector<float> weight{1, -2, 3.5f, 0x1p-140f, 5, 6};
  const std::vector<int64_t> ids{1, -1};
  const std::vector<uint16_t> half{0x3c00};
  const fs::path path = folder_.path() / "m.safetensors";
  WriteSafetensors(path,
                   {{"w \"quoted\" é", DType::kF32, {2, 3}, std::as_bytes(std::span(weight))},
                    {"half", DType::kBf16, {1}, std::as_bytes(std::span(half))},
                    {"ids", DType::kI64, {2}, std::as_bytes(std::span(ids))},
                    {"nothing", DType::kF32, {0, 3}, {}},
                    {"scalar", DType::kF32, {}, std::as_bytes(std::span(weight).first(1))}},
                   {{"format", "pt"}});
  const auto file = OpenSafetensors(path);
  EXPECT_EQ(file->origin(), path.string());
  EXPECT_EQ(file->metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  ASSERT_EQ(file->tensors().size(), 5u);
  const TensorView* view = file->Find("w \"quoted\" é");
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(view->shape, (std::vector<int64_t>{2, 3}));
  std::vector<float> read(6);
  CopyToFloat(*view, read);
  EXPECT_EQ(read, weight);
  EXPECT_EQ(CopyToInt(*file->Find("ids"), "ids"), ids);
  EXPECT_EQ(file->Find("nothing")->elements(), 0);
  EXPECT_EQ(file->Find("scalar")->elements(), 1);
  EXPECT_EQ(file->Find("half")->dtype, DType::kBf16);
  EXPECT_EQ(file->Find("other"), nullptr);
  EXPECT_EQ(folder_.Names(), std::vector<std::string>{"m.safetensors"});
}

TEST_F(Safetensors, WritingOverAMappedFileLeavesTheMappingAlone) {
  const std::vector<float> before(2000, 1.0f), after{2.0f};
  const fs::path path = folder_.path() / "m.safetensors";
  WriteSafetensors(path, {{"w", DType::kF32, {2000}, std::as_bytes(std::span(before))}}, {});
  const auto file = OpenSafetensors(path);
  WriteSafetensors(path, {{"w", DType::kF32, {1}, std::as_bytes(std::span(after))}}, {});
  std::vector<float> read(2000);
  CopyToFloat(*file->Find("w"), read);
  EXPECT_EQ(read, before);
}

TEST_F(Safetensors, OpensEveryReferenceModel) {
  if (!fs::exists(SharedDir() / "oracle/models")) GTEST_SKIP() << "no shared reference models";
  int opened = 0;
  for (const auto& entry : fs::recursive_directory_iterator(SharedDir() / "oracle/models")) {
    if (entry.path().extension() != ".safetensors") continue;
    const auto file = OpenSafetensors(entry.path());
    EXPECT_GT(file->tensors().size(), 5u) << entry.path();
    ++opened;
  }
  EXPECT_EQ(opened, 18);
}

const std::string kGood = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
const std::string kEight(8, 'x');

TEST_F(Safetensors, AcceptsAPaddedHeader) { EXPECT_EQ(ErrorIn(File(kGood + "   ", kEight)), ""); }

TEST_F(Safetensors, RefusesEveryTruncation) {
  const std::string whole = File(kGood, kEight);
  ASSERT_EQ(ErrorIn(whole), "");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(ErrorIn(whole.substr(0, size)), "") << size;
  }
  EXPECT_TRUE(Contains(ErrorIn(whole + "y"), "1 bytes behind"));
}

TEST_F(Safetensors, RefusesImpossibleHeaderLengths) {
  for (const uint64_t length :
       {uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 7, uint64_t{101} << 20, uint64_t{1000}}) {
    EXPECT_NE(ErrorIn(WithLength(length, kGood + kEight)), "") << length;
  }
  EXPECT_TRUE(Contains(ErrorIn(WithLength(1000, kGood + kEight)), "needs 1000 bytes"));
  EXPECT_NE(ErrorIn(WithLength(0, "")), "");
}

TEST_F(Safetensors, RefusesDamagedHeadersByReason) {
  const std::map<std::string, std::string> cases = {
      {R"([])", "does not start"},
      {R"({"a":)", "not valid JSON"},
      {R"({"a":1})", "out of place"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       "twice"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "out of place"},
      {R"({"a":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})", "F8_E4M3"},
      {R"({"a":{"shape":[2],"data_offsets":[0,8]}})", "missing"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,8]}})", "missing"},
      {R"({"a":{"dtype":"F32","shape":[2]}})", "missing"},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "negative"},
      {R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", "no integer"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})", "out of place"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", "not two"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "needs 12 bytes"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "outside"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", "outside"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,2],"data_offsets":[0,8]}})",
       "impossible"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,8]}})", "impossible"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})", "cannot be"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       "overlaps"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "hole"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "4 bytes behind"},
      {R"({"__metadata__":{"format":"pt","format":"tf"}})", "repeat"},
      {R"({"__metadata__":{},"__metadata__":{}})", "twice"},
      {R"({"__metadata__":{"a":1}})", "out of place"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"extra":{}}})", "none belongs"},
  };
  for (const auto& [header, reason] : cases) {
    EXPECT_TRUE(Contains(ErrorIn(File(header, kEight)), reason)) << header;
  }
}

TEST_F(Safetensors, RefusesLargeNonsenseFast) {
  EXPECT_NE(ErrorIn(File("{\"a\":" + std::string(1'000'000, '['), "")), "");
  EXPECT_TRUE(Contains(ErrorIn(File("{\"" + std::string(9 << 20, 'a') + "\":1}", "")), "too long"));
  EXPECT_TRUE(Contains(ErrorIn(File("{" + std::string(9 << 20, ' ') + "}", "")), "too long"));
  EXPECT_TRUE(Contains(ErrorIn(File("{\"a\":" + std::string(9 << 20, '1') + "}", "")), "too long"));
  std::string many = "{";
  for (int i = 0; i < 100'001; ++i) {
    many += "\"" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)";
  }
  many.back() = '}';
  EXPECT_TRUE(Contains(ErrorIn(File(many, "")), "too many tensors"));
  std::string dims = R"({"a":{"dtype":"U8","shape":[1)";
  for (int i = 0; i < 40; ++i) dims += ",1";
  EXPECT_TRUE(
      Contains(ErrorIn(File(dims + R"(],"data_offsets":[0,1]}})", "x")), "too many dimensions"));
}

TEST_F(Safetensors, KeepsControlCharactersOutOfMessages) {
  const std::string error = ErrorIn(
      File("{\"\\u001b[31m\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,8]}}", kEight));
  EXPECT_TRUE(Contains(error, "\\x1b[31m"));
}

}  // namespace
}  // namespace hagane::io
