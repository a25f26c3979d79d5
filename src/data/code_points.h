// A text by its code points: what answer_start and offsets count.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hagane::data {

class CodePoints {
 public:
  // `text`: valid UTF-8 that outlives this.
  explicit CodePoints(std::string_view text);

  int64_t size() const { return size_; }
  // Code points [begin, end), both cut to the text; empty where nothing is between them.
  std::string_view Slice(int64_t begin, int64_t end) const;
  // The code point that begins at byte `byte`.
  int64_t AtByte(size_t byte) const;

 private:
  size_t Byte(int64_t code_point) const;

  std::string_view text_;
  int64_t size_;
  std::vector<uint32_t> bytes_;  // where each code point begins; empty: all are of one byte
};

}  // namespace hagane::data
