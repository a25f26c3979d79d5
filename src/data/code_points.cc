#include "data/code_points.h"

#include <algorithm>

#include "text/utf8.h"

namespace hagane::data {

CodePoints::CodePoints(std::string_view text)
    : text_(text), size_(static_cast<int64_t>(text::CountCodePoints(text))) {
  if (size_ == static_cast<int64_t>(text.size())) return;
  bytes_.reserve(static_cast<size_t>(size_));
  for (size_t i = 0; i < text.size(); ++i) {
    if (!text::IsContinuationByte(text[i])) bytes_.push_back(static_cast<uint32_t>(i));
  }
}

size_t CodePoints::Byte(int64_t code_point) const {
  if (code_point >= size_) return text_.size();
  const auto i = static_cast<size_t>(std::max<int64_t>(code_point, 0));
  return bytes_.empty() ? i : bytes_[i];
}

std::string_view CodePoints::Slice(int64_t begin, int64_t end) const {
  if (begin >= end) return {};
  const size_t first = Byte(begin);
  return text_.substr(first, Byte(end) - first);
}

int64_t CodePoints::AtByte(size_t byte) const {
  if (bytes_.empty()) return static_cast<int64_t>(byte);
  return std::lower_bound(bytes_.begin(), bytes_.end(), byte) - bytes_.begin();
}

}  // namespace hagane::data
