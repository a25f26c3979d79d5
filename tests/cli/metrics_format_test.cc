#include "cli/metrics_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "tests/io/temporary_folder.h"

namespace hagane::cli {
namespace {

std::string FileText(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(MetricsFormatTest, RoundsAsPython) {
  EXPECT_EQ(PythonRound(0.50125, 4), 0.5012);  // below the half in binary
  EXPECT_EQ(PythonRound(2.5, 0), 2.0);
  EXPECT_EQ(PythonRound(1.005, 2), 1.0);
  EXPECT_EQ(PythonRound(-0.00004, 4), -0.0);
  EXPECT_TRUE(std::isnan(PythonRound(NAN, 4)));
}

TEST(MetricsFormatTest, DictLooksLikePythons) {
  EXPECT_EQ(PythonDict({{"loss", 0.5012}, {"learning_rate", 1.1e-05}, {"epoch", 1.45}}),
            "{'loss': 0.5012, 'learning_rate': 1.1e-05, 'epoch': 1.45}");
  EXPECT_EQ(PythonDict({{"n", int64_t{3}}, {"x", 3.0}, {"y", NAN}, {"z", INFINITY}}),
            "{'n': 3, 'x': 3.0, 'y': nan, 'z': inf}");
}

TEST(MetricsFormatTest, RuntimesAreCutToHundredths) {
  EXPECT_EQ(FormatRuntime(48.9299), "0:00:48.92");
  EXPECT_EQ(FormatRuntime(3661.5), "1:01:01.50");
  EXPECT_EQ(FormatRuntime(86400.25), "1 day, 0:00:00.25");
  EXPECT_EQ(FormatRuntime(2 * 86400.0 + 7325), "2 days, 2:02:05.00");
}

TEST(MetricsFormatTest, BlockIsSortedAndAligned) {
  EXPECT_EQ(MetricsBlock("train", {{"train_runtime", 48.9201},
                                   {"train_samples_per_second", 224.938},
                                   {"train_steps_per_second", 7.052},
                                   {"train_loss", 0.42111},
                                   {"epoch", 3.0},
                                   {"train_samples", int64_t{3668}}}),
            "***** train metrics *****\n"
            "  epoch                    =        3.0\n"
            "  train_loss               =     0.4211\n"
            "  train_runtime            = 0:00:48.92\n"
            "  train_samples            =       3668\n"
            "  train_samples_per_second =    224.938\n"
            "  train_steps_per_second   =      7.052\n");
}

TEST(MetricsFormatTest, TotalFlosAreWholeGigas) {
  const std::string block = MetricsBlock("train", {{"total_flos", 3.0 * (1 << 30) + 5}});
  EXPECT_NE(block.find("total_flos = 3GF"), std::string::npos) << block;
}

TEST(MetricsFormatTest, SecondEvaluationsRuntimeIsARuntimeToo) {
  EXPECT_NE(MetricsBlock("eval", {{"eval_runtime_mm", 2.0}}).find("0:00:02.00"), std::string::npos);
}

TEST(MetricsFormatTest, ResultsFilesAreSortedWithoutFinalNewlineAndMerged) {
  const io::TemporaryFolder folder;
  WriteResults(folder.path(), "train", {{"train_loss", 0.5}, {"epoch", 3.0}});
  WriteResults(folder.path(), "eval", {{"eval_loss", 1e-05}, {"eval_samples", int64_t{7}}});
  EXPECT_EQ(FileText(folder.path() / "train_results.json"),
            "{\n    \"epoch\": 3.0,\n    \"train_loss\": 0.5\n}");
  EXPECT_EQ(FileText(folder.path() / "all_results.json"),
            "{\n    \"epoch\": 3.0,\n    \"eval_loss\": 1e-05,\n    \"eval_samples\": 7,\n"
            "    \"train_loss\": 0.5\n}");
}

TEST(MetricsFormatTest, ResultsOfADivergedRunAreMergedToo) {
  const io::TemporaryFolder folder;
  WriteResults(folder.path(), "train", {{"train_loss", NAN}});
  WriteResults(folder.path(), "eval", {{"eval_loss", INFINITY}});
  EXPECT_EQ(FileText(folder.path() / "all_results.json"),
            "{\n    \"eval_loss\": Infinity,\n    \"train_loss\": NaN\n}");
}

}  // namespace
}  // namespace hagane::cli
