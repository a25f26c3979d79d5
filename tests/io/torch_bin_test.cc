#include <fstream>

#include "io/tensor_file.h"
#include "tests/io/temporary_folder.h"
#include "tests/io/torch_bin_builder.h"

namespace hagane::io {
namespace {

namespace fs = std::filesystem;

std::vector<float> Floats(const TensorFile& file, const std::string& name) {
  const TensorView* view = file.Find(name);
  if (view == nullptr) return {};
  std::vector<float> out(static_cast<size_t>(view->elements()));
  CopyToFloat(*view, out);
  return out;
}

// tests/io/data/{zip,stream}.bin: the same dict, written by torch.save in both forms.
class TorchSave : public testing::TestWithParam<const char*> {};

TEST_P(TorchSave, GivesTheTensorsThatWereSaved) {
  const auto file = OpenTorchBin(DataDir() / GetParam());
  using V = std::vector<float>;
  EXPECT_EQ(file->tensors().size(), 14u);
  EXPECT_EQ(Floats(*file, "a.weight"), (V{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(file->Find("a.weight")->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(Floats(*file, "b.half"), (V{1.5f, -2.0f, 0x1p-24f}));
  EXPECT_EQ(Floats(*file, "c.bf16"), (V{1.5f, -2.0f}));
  EXPECT_EQ(file->Find("d.long")->shape, (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(CopyToInt(*file->Find("d.long"), ""), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(file->Find("e.t")->shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(Floats(*file, "e.t"), (V{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(file->Find("f.bool")->dtype, DType::kBool);
  EXPECT_EQ(Floats(*file, "g.param"), (V{1, 1}));
  EXPECT_EQ(Floats(*file, "h.expand"), (V{3, 3, 3, 3, 3, 3}));
  EXPECT_EQ(Floats(*file, "i.scalar"), (V{7}));
  EXPECT_TRUE(file->Find("i.scalar")->shape.empty());
  EXPECT_EQ(Floats(*file, "j.f64"), (V{0, 2}));
  EXPECT_EQ(Floats(*file, "k.u8"), (V{1, 255}));
  EXPECT_EQ(Floats(*file, "l.i32"), (V{-5}));
  EXPECT_EQ(file->Find("m.empty")->shape, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(Floats(*file, "n.slice"), (V{3, 4, 5, 6}));
}

TEST_P(TorchSave, IsRefusedWhereverItIsCut) {
  TemporaryFolder folder;
  const std::string whole = ReadAll(DataDir() / GetParam());
  for (size_t size = 0; size < whole.size(); ++size) {
    const fs::path path = folder.Write("cut.bin", std::string_view(whole).substr(0, size));
    EXPECT_TRUE(Contains(ErrorOf([&] { OpenTorchBin(path); }), path.string())) << size;
  }
}

TEST_P(TorchSave, IsRefusedWithMoreBehindIt) {
  TemporaryFolder folder;
  const fs::path path = folder.Write("more.bin", ReadAll(DataDir() / GetParam()) + "x");
  EXPECT_TRUE(Contains(ErrorOf([&] { OpenTorchBin(path); }), path.string()));
}

// A changed byte is refused or changes a name or a value; it never does worse.
TEST_P(TorchSave, SurvivesEveryChangedByte) {
  TemporaryFolder folder;
  const std::string whole = ReadAll(DataDir() / GetParam());
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const fs::path path = folder.Write("changed.bin", changed);
      try {
        const auto file = OpenTorchBin(path);
        for (const auto& [name, view] : file->tensors()) {
          std::vector<float> out(static_cast<size_t>(view.elements()));
          CopyToFloat(view, out);
        }
      } catch (const Error&) {
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(BothForms, TorchSave, testing::Values("zip.bin", "stream.bin"),
                         [](const auto& test) { return std::string(test.param).substr(0, 3); });

TEST(OpenTorchBin, ReadsARealModelOfTheOldForm) {
  const fs::path path = SharedDir() / "data/fixtures/bert-xsmall-dummy/pytorch_model.bin";
  if (!fs::exists(path)) GTEST_SKIP() << "no shared fixtures";
  const auto file = OpenTorchBin(path);
  int64_t values = 0;
  for (const auto& [name, view] : file->tensors()) values += view.elements();
  EXPECT_EQ(values, 19160);
  EXPECT_EQ(file->Find("embeddings.word_embeddings.weight")->shape,
            (std::vector<int64_t>{250, 20}));
}

TEST(OpenTorchBin, IgnoresScalarsAndAttributes) {
  using namespace pickle;
  TemporaryFolder folder;
  const std::string dict =
      Dict(Text("w") + Tensor(Storage("FloatStorage", "0", 1), 0, {1}, {1}) + Text("epoch") +
           Int(3) + Text("note") + Text("x") + Text("none") + "N") +
      "}" + Text("_metadata") + kOrderedDict + "sb";
  const fs::path path = folder.Write("m.bin", ZipBin(dict, "abcd"));
  EXPECT_EQ(OpenTorchBin(path)->tensors().size(), 1u);
}

}  // namespace
}  // namespace hagane::io
