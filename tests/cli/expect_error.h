// How every failed command ends.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/cli/captured_streams.h"
#include "tests/io/temporary_folder.h"

namespace hagane::cli {

// One error of one sentence that names `place`, and a hint; nothing on stdout.
inline void ExpectError(const Outcome& outcome, int code, const std::string& place) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const size_t begin = outcome.err.find("error: ");
  ASSERT_NE(begin, std::string::npos) << outcome.err;
  const std::string text = outcome.err.substr(begin);
  const std::string sentence = text.substr(0, text.find('\n'));
  EXPECT_TRUE(io::Contains(text, place));
  EXPECT_TRUE(sentence.ends_with(".")) << sentence;
  EXPECT_TRUE(io::Contains(text, "\n\nhint: ")) << text;
  EXPECT_EQ(text.find("error: ", 1), std::string::npos) << text;
}

}  // namespace hagane::cli
