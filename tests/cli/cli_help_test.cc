#include <gtest/gtest.h>

#include <sstream>

#include "cli/flag.h"
#include "tests/cli/captured_streams.h"

namespace hagane::cli {
namespace {

TEST(HelpTest, ShortHelpShowsTheFlagsThatMatter) {
  const Outcome outcome = RunProgram({"run_glue", "--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("--model_name_or_path"), std::string::npos);
  EXPECT_EQ(outcome.out.find("--adam_beta1"), std::string::npos);
  EXPECT_EQ(RunProgram({"help", "run_glue"}).out, outcome.out);
}

TEST(HelpTest, FullHelpShowsEveryFlagWithinTheWidth) {
  const Outcome outcome = RunProgram({"run_glue", "--help_all"});
  for (const Flag& flag : RunGlueFlags()) {
    EXPECT_NE(outcome.out.find("  --" + flag.name), std::string::npos) << flag.name;
  }
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(HelpTest, EveryCommandHasHelp) {
  for (const char* command : {"run_glue", "verify", "tokenize", "bench"}) {
    const Outcome outcome = RunProgram({command, "--help"});
    EXPECT_EQ(outcome.code, 0) << command;
    EXPECT_NE(outcome.out.find(std::string("usage: hagane ") + command), std::string::npos);
  }
}

TEST(HelpTest, VersionNamesTheInstructionSets) {
  const Outcome outcome = RunProgram({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out.rfind("hagane ", 0), 0u);
  EXPECT_NE(outcome.out.find("ref"), std::string::npos);
}

TEST(HelpTest, UnknownCommandProposesTheNearest) {
  const Outcome outcome = RunProgram({"run_glu"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("did you mean hagane run_glue?"), std::string::npos);
  EXPECT_EQ(RunProgram({}).code, 2);
}

}  // namespace
}  // namespace hagane::cli
