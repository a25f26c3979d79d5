#include "text/bert_normalizer.h"

#include <algorithm>

#include "text/unicode.h"
#include "text/utf8.h"

namespace hagane::text {

// One Normalize call: its output, and the combining marks that wait for the next starter, because
// the canonical order sorts them by class.
//
// The reference keeps where characters come from by counting: the first character of a
// decomposition replaces its source, the others are inserted. After sorting, replacing characters
// take the sources in text order, whichever they were, and an inserted one that of its predecessor.
// The same is done here; it shows only where a mark of class > 0 survives the stripping.
class BertNormalizer::Run {
 public:
  Run(const BertNormalizerOptions& options, bool with_sources, NormalizedText& out)
      : options_(options), with_sources_(with_sources), out_(out) {}

  void Ascii(char c, int32_t source) {
    if (!marks_.empty()) FlushMarks();
    last_source_ = source;
    out_.bytes.push_back(c);
    if (with_sources_) out_.sources.push_back({source, source + 1});
  }

  void Character(char32_t c, int32_t source) {
    if (options_.clean_text) {
      if (IsInvisible(c)) return;
      if (IsWhiteSpace(c)) c = ' ';
    }
    const bool alone = options_.handle_chinese_chars && IsChinese(c);
    if (alone) Ascii(' ', source);
    if (options_.strip_accents) {
      const Expansion decomposed = Decompose(c);
      for (int i = 0; i < decomposed.size; ++i)
        Decomposed(decomposed.chars[static_cast<size_t>(i)], source, i > 0);
    } else {
      Put(c, source);
    }
    if (alone) Ascii(' ', source);
  }

  void FlushMarks() {
    std::stable_sort(marks_.begin(), marks_.end(), [](const Mark& a, const Mark& b) {
      return a.combining_class < b.combining_class;
    });
    size_t next_source = 0;
    for (const Mark& mark : marks_) {
      if (!mark.inserted) last_source_ = mark_sources_[next_source++];
      Put(mark.value, last_source_);
    }
    marks_.clear();
    mark_sources_.clear();
  }

 private:
  struct Mark {
    char32_t value;
    uint8_t combining_class;
    bool inserted;
  };

  void Decomposed(char32_t c, int32_t source, bool inserted) {
    const uint8_t combining_class = CombiningClass(c);
    if (combining_class > 0) {
      marks_.push_back({c, combining_class, inserted});
      if (!inserted) mark_sources_.push_back(source);
      return;
    }
    if (!marks_.empty()) FlushMarks();
    if (!inserted) last_source_ = source;
    Put(c, last_source_);
  }

  void Put(char32_t c, int32_t source) {
    if (options_.strip_accents && IsNonspacingMark(c)) return;
    size_t bytes = 0;
    if (options_.lowercase) {
      const Expansion lower = ToLower(c);
      for (int i = 0; i < lower.size; ++i)
        bytes += AppendUtf8(lower.chars[static_cast<size_t>(i)], out_.bytes);
    } else {
      bytes = AppendUtf8(c, out_.bytes);
    }
    if (with_sources_) out_.sources.insert(out_.sources.end(), bytes, {source, source + 1});
  }

  const BertNormalizerOptions& options_;
  const bool with_sources_;
  NormalizedText& out_;
  std::vector<Mark> marks_;
  std::vector<int32_t> mark_sources_;  // of the marks that are not inserted, in text order
  int32_t last_source_ = 0;
};

BertNormalizer::BertNormalizer(BertNormalizerOptions options) : options_(options) {
  for (size_t i = 0; i < ascii_.size(); ++i) {
    auto c = static_cast<char32_t>(i);
    if (options_.clean_text && IsInvisible(c)) {
      ascii_[i] = -1;
      continue;
    }
    if (options_.clean_text && IsWhiteSpace(c)) c = ' ';
    if (options_.lowercase) c = ToLower(c).chars[0];
    ascii_[i] = static_cast<int8_t>(c);
  }
}

void BertNormalizer::Normalize(std::string_view text, int32_t first, bool with_sources,
                               NormalizedText& out) const {
  out.bytes.clear();
  out.sources.clear();
  out.bytes.reserve(text.size() + text.size() / 4);
  if (with_sources) out.sources.reserve(text.size() + text.size() / 4);
  Run run(options_, with_sources, out);
  int32_t source = first;
  for (size_t pos = 0; pos < text.size(); ++source) {
    const auto byte = static_cast<unsigned char>(text[pos]);
    if (byte < 0x80) {
      if (ascii_[byte] >= 0) run.Ascii(static_cast<char>(ascii_[byte]), source);
      ++pos;
    } else {
      const CodePoint c = DecodeUtf8(text, pos);
      run.Character(c.value, source);
      pos += c.length;
    }
  }
  run.FlushMarks();
}

}  // namespace hagane::text
