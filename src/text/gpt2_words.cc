#include "text/gpt2_words.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/core.h>
#include <pcre2.h>

#include <new>

#include "base/error.h"

namespace hagane::text {
namespace {

// Contractions, letters, digits and other characters, each with one blank before it if there is
// one; white space, of which the last character is left for the word that follows. PCRE2 counts
// U+180E as white space, Unicode (and so the reference) no longer does.
constexpr char kPattern[] = R"('s|'t|'re|'ve|'m|'ll|'d)"
                            R"(| ?\p{L}+| ?\p{N}+| ?(?:[^\s\p{L}\p{N}]|\x{180E})+)"
                            R"(|[^\S\x{180E}]+(?![\S\x{180E}])|[^\S\x{180E}]+)";

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};

}  // namespace

struct Gpt2Words::Pattern {
  std::unique_ptr<pcre2_code, Free> code;
};

Gpt2Words::Gpt2Words() : pattern_(std::make_unique<Pattern>()) {
  int error = 0;
  size_t where = 0;
  pattern_->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kPattern), PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &where,
                                     nullptr));
  HAGANE_CHECK(pattern_->code != nullptr, "the GPT-2 pattern compiles");
  // Without executable memory the interpreter does the same, slower.
  pcre2_jit_compile(pattern_->code.get(), PCRE2_JIT_COMPLETE);
}

Gpt2Words::~Gpt2Words() = default;

Gpt2Words::Scan::Scan(const Gpt2Words& words, std::string_view text)
    : words_(words), text_(text), match_(pcre2_match_data_create(1, nullptr)) {
  if (match_ == nullptr) throw std::bad_alloc();
}

Gpt2Words::Scan::~Scan() { pcre2_match_data_free(static_cast<pcre2_match_data*>(match_)); }

std::string_view Gpt2Words::Scan::Next() {
  if (pos_ == text_.size()) return {};
  auto* match = static_cast<pcre2_match_data*>(match_);
  const int found =
      pcre2_match(words_.pattern_->code.get(), reinterpret_cast<PCRE2_SPTR>(text_.data()),
                  text_.size(), pos_, PCRE2_NO_UTF_CHECK, match, nullptr);
  if (found < 0) {
    throw Error(
        fmt::format("the regular expression library gave up on a text of {} bytes (PCRE2 error {})",
                    text_.size(), found),
        "cut the text into shorter ones");
  }
  const size_t end = pcre2_get_ovector_pointer(match)[1];
  const std::string_view word = text_.substr(pos_, end - pos_);
  pos_ = end;
  return word;
}

}  // namespace hagane::text
