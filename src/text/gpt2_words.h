// GPT-2's split of a text into words, before byte pairs are merged within them.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace hagane::text {

// The compiled pattern. Immutable: any number of threads may have a Gpt2Words::Scan of it.
class Gpt2Words {
 public:
  Gpt2Words();
  ~Gpt2Words();
  Gpt2Words(const Gpt2Words&) = delete;
  Gpt2Words& operator=(const Gpt2Words&) = delete;

  // The words of one text, from left to right. They cover it without gaps.
  class Scan {
   public:
    // `text`: valid UTF-8, outlives the scan.
    Scan(const Gpt2Words& words, std::string_view text);
    ~Scan();
    Scan(const Scan&) = delete;
    Scan& operator=(const Scan&) = delete;

    // Empty at the end.
    std::string_view Next();

   private:
    const Gpt2Words& words_;
    std::string_view text_;
    size_t pos_ = 0;
    void* match_ = nullptr;
  };

 private:
  struct Pattern;
  std::unique_ptr<Pattern> pattern_;
};

}  // namespace hagane::text
