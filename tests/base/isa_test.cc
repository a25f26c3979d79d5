#include "base/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.h"

namespace hagane {
namespace {

TEST(Isa, NamesParseBackToTheirLevel) {
  for (const Isa isa : {Isa::kReference, Isa::kAvx2, Isa::kAvx512}) {
    EXPECT_EQ(ParseIsa(IsaName(isa)), isa);
  }
}

TEST(Isa, AnUnknownNameIsAUsageErrorThatListsTheKnownOnes) {
  try {
    ParseIsa("sse9");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("sse9"), std::string::npos);
    for (const char* name : {"avx512", "avx2", "ref"}) {
      EXPECT_NE(error.hint().find(name), std::string::npos) << name;
    }
  }
}

TEST(Isa, SupportedLevelsGoFromTheBestDownToTheReference) {
  CpuFeatures cpu;
  cpu.best = Isa::kAvx512;
  EXPECT_EQ(SupportedIsas(cpu), (std::vector{Isa::kAvx512, Isa::kAvx2, Isa::kReference}));
  cpu.best = Isa::kReference;
  EXPECT_EQ(SupportedIsas(cpu), std::vector{Isa::kReference});
}

TEST(CpuFeatures, DescriptionNamesTheLevelAndWhatComesOnTop) {
  CpuFeatures cpu;
  cpu.best = Isa::kAvx2;
  EXPECT_EQ(cpu.Describe(), "avx2");
  cpu.best = Isa::kAvx512;
  cpu.avx512_vnni = cpu.avx512_bf16 = cpu.amx_bf16 = cpu.amx_int8 = true;
  EXPECT_EQ(cpu.Describe(), "avx512+vnni+bf16+amx");
}

TEST(DetectCpu, GivesTheSameAnswerTwiceAndNoExtensionWithoutItsLevel) {
  const CpuFeatures cpu = DetectCpu();
  EXPECT_FALSE(cpu.model_name.empty());
  EXPECT_EQ(cpu.Describe(), DetectCpu().Describe());
  if (cpu.best != Isa::kAvx512) {
    EXPECT_FALSE(cpu.avx512_bf16 || cpu.avx512_vnni || cpu.avx512_fp16);
    EXPECT_FALSE(cpu.amx_bf16 || cpu.amx_int8);
  }
}

}  // namespace
}  // namespace hagane
