// What a pytorch_model.bin must not be able to do.
#include <map>

#include "io/tensor_file.h"
#include "tests/io/temporary_folder.h"
#include "tests/io/torch_bin_builder.h"

namespace hagane::io {
namespace {

using namespace pickle;

class HostileTorchBin : public testing::Test {
 protected:
  std::string ErrorIn(const std::string& content) {
    const auto path = folder_.Write("m.bin", content);
    const std::string error = ErrorOf([&] { OpenTorchBin(path); });
    EXPECT_TRUE(error.empty() || Contains(error, path.string()));
    return error;
  }
  // A state dict with one tensor "w", from its pickle.
  std::string ErrorOfTensor(const std::string& tensor) {
    return ErrorIn(ZipBin(Dict(Text("w") + tensor), "01234567"));
  }
  TemporaryFolder folder_;
};

const std::string kStorage = Storage("FloatStorage", "0", 2);
const std::string kTensor = Tensor(kStorage, 0, {2}, {1});

TEST_F(HostileTorchBin, TheHarmlessOneIsAccepted) { EXPECT_EQ(ErrorOfTensor(kTensor), ""); }

TEST_F(HostileTorchBin, NamesOutsideTheListAreRefused) {
  const std::pair<std::string, std::string> names[] = {
      {"os", "system"},           {"posix", "system"},
      {"builtins", "eval"},       {"__builtin__", "getattr"},
      {"torch.hub", "load"},      {"torch", "load"},
      {"collections", "Counter"}, {"evil", "OrderedDict"},
      {"evil", "FloatStorage"},   {"torch._utils", "_rebuild_tensor_v2.x"}};
  for (const auto& [module, name] : names) {
    const std::string call = Global(module, name) + Tuple(Text("touch /tmp/x")) + "R";
    const std::string error = ErrorIn(ZipBin(Dict(Text("w") + call), ""));
    EXPECT_TRUE(Contains(error, "it asks for " + module + "." + name));
    EXPECT_TRUE(Contains(error, "nothing of the file was executed"));
  }
}

TEST_F(HostileTorchBin, OpcodesThatATensorDoesNotNeedAreRefused) {
  // INST, OBJ, NEWOBJ, STACK_GLOBAL, EXT1, PERSID by text, POP, DUP, FRAME, BYTEARRAY8, BINUNICODE8
  for (const int op :
       {0x69, 0x6f, 0x81, 0x93, 0x82, 0x50, 0x30, 0x32, 0x95, 0x96, 0x8d, 0x49, 0x53, 0x56}) {
    EXPECT_TRUE(
        Contains(ErrorIn(ZipBin(std::string(1, static_cast<char>(op)) + "1\n", "")), "opcode"))
        << op;
  }
  EXPECT_TRUE(Contains(ErrorIn(Zip({{"m/data.pkl", "\x80\x04N."}})), "protocol 2"));
}

TEST_F(HostileTorchBin, OperandsOfTheWrongKindAreRefused) {
  const std::string rebuild = Global("torch._utils", "_rebuild_tensor_v2");
  const std::string rest = kFalse + kOrderedDict;
  const std::vector<std::string> tensors = {
      Text("callable") + Tuple("") + "R",
      kOrderedDict + Tuple("") + "R",
      Global("torch", "FloatStorage") + Tuple(Int(1)) + "R",
      Global("collections", "OrderedDict") + Tuple(Int(1)) + "R",
      Global("collections", "OrderedDict") + "NR",
      Global("collections", "OrderedDict") + "]R",
      rebuild + Tuple("") + "R",
      rebuild + Tuple(Text("0") + Int(0) + Ints({2}) + Ints({1}) + rest) + "R",
      rebuild + Tuple(kStorage + "N" + Ints({2}) + Ints({1}) + rest) + "R",
      rebuild + Tuple(kStorage + Int(0) + Int(2) + Ints({1}) + rest) + "R",
      rebuild + Tuple(kStorage + Int(0) + Tuple(Text("2")) + Ints({1}) + rest) + "R",
      rebuild + Tuple(kStorage + Int(0) + Tuple(kFalse) + Ints({1}) + rest) + "R",
      rebuild + Tuple(kStorage + Int(0) + Ints({2}) + Ints({1, 1}) + rest) + "R",
      rebuild + Tuple(kStorage + Int(0) + Ints({2}) + Ints({1}) + "N" + kOrderedDict) + "R",
      rebuild + Tuple(kStorage + Int(0) + Ints({2}) + Ints({1}) + kFalse + "N") + "R",
      Text("0") + "Q",
      Tuple(Text("storage") + Text("FloatStorage") + Text("0") + Text("cpu") + Int(2)) + "Q",
      Tuple(Text("module") + Global("torch", "FloatStorage") + Text("0") + Text("cpu") + Int(2)) +
          "Q",
      Tuple(Text("storage") + Global("torch", "FloatStorage") + Int(0) + Text("cpu") + Int(2)) +
          "Q",
      Tuple(Text("storage") + Global("torch", "FloatStorage") + Text("0") + Text("cpu") + Int(-2)) +
          "Q",
      kTensor + "}b",
      "NNb",
      kOrderedDict + "Nb",
      "NNs",
      "]" + Text("k") + "Ns",
      "}NNNu",
      "N(Nu",
      "}(Nu",
      "}(Ne",
      "}Na",
      "t",
      "R",
      "Q",
      "b",
      "u",
      "h\x05",
      std::string("j\xff\xff\xff\xff", 5),
      "(R",
      "(\x85t",
      "(q\x01t",
  };
  for (const std::string& tensor : tensors) {
    EXPECT_TRUE(Contains(ErrorOfTensor(tensor), "its pickle is not that of plain weights"))
        << testing::PrintToString(tensor);
  }
}

TEST_F(HostileTorchBin, TensorsMustLieInsideTheirStorage) {
  const int64_t huge = INT64_MAX;
  const std::map<std::string, std::string> tensors = {
      {Tensor(kStorage, 0, {3}, {1}), "beyond"},
      {Tensor(kStorage, 1, {2}, {1}), "beyond"},
      {Tensor(kStorage, 2, {1}, {1}), "beyond"},
      {Tensor(kStorage, -1, {1}, {1}), "beyond"},
      {Tensor(kStorage, huge, {2}, {1}), "beyond"},
      {Tensor(kStorage, 0, {2}, {-1}), "beyond"},
      {Tensor(kStorage, 1, {2}, {-1}), "beyond"},
      {Tensor(kStorage, 0, {2}, {huge}), "beyond"},
      {Tensor(kStorage, 0, {3, 2}, {huge, 1}), "beyond"},
      {Tensor(kStorage, 0, {-1}, {1}), "impossible"},
      {Tensor(kStorage, 0, {huge, 2}, {0, 1}), "impossible"},
      {Tensor(kStorage, 0, {huge}, {0}), "impossible"},
      {Tensor(kStorage, 0, {1 << 30}, {0}), "expanded"},
      {Tensor(Storage("FloatStorage", "0", 3), 0, {3}, {1}), "not as large"},
      {Tensor(Storage("FloatStorage", "0", 1), 0, {1}, {1}), "not as large"},
      {Tensor(Storage("FloatStorage", "0", huge), 0, {1}, {1}), "impossible size"},
      {Tensor(Storage("FloatStorage", "1", 2), 0, {2}, {1}), "m/data/1 is missing"},
      {Tensor(Storage("FloatStorage", "../data/0", 2), 0, {2}, {1}), "missing"},
  };
  for (const auto& [tensor, reason] : tensors) {
    EXPECT_TRUE(Contains(ErrorOfTensor(tensor), reason)) << testing::PrintToString(tensor);
  }
}

TEST_F(HostileTorchBin, OneStorageUnderTwoTypesIsRefusedWhereTheSizesDiffer) {
  const std::string two =
      Text("a") + kTensor + Text("b") + Tensor(Storage("DoubleStorage", "0", 2), 0, {2}, {1});
  EXPECT_TRUE(Contains(ErrorIn(ZipBin(Dict(two), "01234567")), "tensor b has no values"));
}

TEST_F(HostileTorchBin, DictsThatAreNoStateDictsAreRefused) {
  EXPECT_TRUE(Contains(ErrorIn(ZipBin("N", "")), "no dict"));
  EXPECT_TRUE(Contains(ErrorIn(ZipBin(kTensor, "01234567")), "no dict"));
  EXPECT_TRUE(Contains(ErrorIn(ZipBin("}", "")), "no tensors"));
  EXPECT_TRUE(Contains(ErrorOfTensor(kTensor + Text("w") + kTensor), "there twice"));
  EXPECT_TRUE(Contains(ErrorOfTensor(kTensor + Int(1) + kTensor), "no text"));
  EXPECT_TRUE(
      Contains(ErrorIn(ZipBin(Dict(Text("state_dict") + Dict(Text("w") + kTensor)), "01234567")),
               "state_dict is not a tensor: this is not a flat state dict"));
  EXPECT_TRUE(Contains(ErrorIn(Zip({{"m/data.pkl", kStart + "}.N."}})), "more than one pickle"));
}

TEST_F(HostileTorchBin, BombsAreRefusedEarly) {
  // Nesting: a million lists in each other; nothing here recurses, so the limits speak.
  std::string nested;
  for (int i = 0; i < 1'000'000; ++i) nested += "]";
  EXPECT_TRUE(Contains(ErrorIn(ZipBin(nested, "")), "too many"));
  EXPECT_TRUE(Contains(ErrorIn(ZipBin(std::string(1'000'000, '('), "")), "too many marks"));
  EXPECT_TRUE(Contains(ErrorIn(ZipBin(std::string(2'000'000, 'N'), "")), "too many values"));
  // Memo: a slot far out, and doubling tuples ("billion laughs").
  EXPECT_TRUE(Contains(ErrorIn(ZipBin(std::string("Nr\xff\xff\xff\xff", 6), "")), "memo"));
  std::string doubling = ")q" + Little<uint8_t>(0);
  for (int i = 0; i < 10'000; ++i) doubling += std::string("h\0h\0\x86q\0", 7);
  EXPECT_TRUE(Contains(ErrorIn(ZipBin(doubling, "")), "left over"));
  // A tuple that holds the whole stack again and again.
  std::string growing = "]q" + Little<uint8_t>(0);
  for (int i = 0; i < 300'000; ++i) growing += std::string("(h\0h\0h\0h\0h\0h\0h\0h\0e", 18);
  EXPECT_TRUE(Contains(ErrorIn(ZipBin(growing, "")), "too many values"));
  EXPECT_TRUE(Contains(ErrorIn(ZipBin(Text(std::string(2 << 20, 'a')), "")), "too long"));
  std::string names;
  for (char c = 'a'; c <= 's'; ++c) names += Text(std::string(1 << 20, c)) + "N";
  EXPECT_TRUE(Contains(ErrorIn(ZipBin(Dict(names), "")), "names of its tensors are too long"));
  // Sizes that the pickle claims and does not have.
  EXPECT_TRUE(Contains(ErrorIn(ZipBin(std::string("X\xff\xff\x0f\x00", 5), "")), "ends too early"));
  EXPECT_TRUE(Contains(ErrorIn(ZipBin("\x8a\xff", "")), "ends too early"));
}

TEST_F(HostileTorchBin, ZipHeadersMustAgree) {
  const std::string pickle = kStart + Dict(Text("w") + kTensor) + ".";
  const auto zip_with = [&](ZipPart storage) {
    storage.name = "m/data/0";
    storage.data = "01234567";
    return ErrorIn(Zip({{"m/data.pkl", pickle}, storage}));
  };
  EXPECT_EQ(zip_with({}), "");
  ZipPart part;
  part.local_name = "m/data/1";
  EXPECT_TRUE(Contains(zip_with(part), "the name differs"));
  part = {};
  part.method = 8;
  EXPECT_TRUE(Contains(zip_with(part), "compressed"));
  part = {};
  part.local_method = 8;
  EXPECT_TRUE(Contains(zip_with(part), "compressed"));
  part = {};
  part.flags = 1;
  EXPECT_TRUE(Contains(zip_with(part), "flags"));
  part = {};
  part.local_flags = 1 << 3;
  EXPECT_TRUE(Contains(zip_with(part), "the flags differs"));
  part = {};
  part.crc = 1;
  EXPECT_TRUE(Contains(zip_with(part), "checksum"));
  part = {};
  part.local_size = 7;
  EXPECT_TRUE(Contains(zip_with(part), "the size differs"));
  part.local_size = 0;
  EXPECT_TRUE(Contains(zip_with(part), "the size differs"));
  part.flags = 1 << 3;
  EXPECT_EQ(zip_with(part), "");
  part = {};
  part.compressed = 7;
  EXPECT_TRUE(Contains(zip_with(part), "two sizes"));
  part = {};
  part.size = 1 << 20;
  EXPECT_TRUE(Contains(zip_with(part), "ends too early"));
  part = {};
  part.size = 100;
  EXPECT_TRUE(Contains(zip_with(part), "overlap"));
  part = {};
  part.offset = 0;
  EXPECT_TRUE(Contains(zip_with(part), "the name differs"));
  part.offset = 0x7fffffff;
  EXPECT_TRUE(Contains(zip_with(part), "differs"));

  const ZipPart storage{"m/data/0", "01234567"};
  EXPECT_TRUE(Contains(ErrorIn(Zip({{"m/data.pkl", pickle}, storage, storage})), "there twice"));
  EXPECT_TRUE(Contains(ErrorIn(Zip({{"m/data.pkl", pickle}, {"n/data.pkl", pickle}, storage})),
                       "no data.pkl"));
  EXPECT_TRUE(Contains(ErrorIn(Zip({storage})), "no data.pkl"));
  EXPECT_TRUE(
      Contains(ErrorIn(Zip({{"m/data.pkl", pickle}, storage}) + "x"), "its end is missing"));
  EXPECT_TRUE(Contains(ErrorIn("x" + Zip({{"m/data.pkl", pickle}, storage})),
                       "not a file that torch.save wrote"));
  EXPECT_TRUE(Contains(ErrorIn(Zip({{"m/data.pkl", pickle}, storage, {"m/byteorder", "big"}})),
                       "big endian"));
}

TEST_F(HostileTorchBin, OtherFilesAreNamedAsSuch) {
  EXPECT_TRUE(Contains(ErrorIn("version https://git-lfs.github.com/spec/v1\n"), "Git LFS"));
  EXPECT_TRUE(Contains(ErrorIn(""), "not a file that torch.save wrote"));
}

}  // namespace
}  // namespace hagane::io
