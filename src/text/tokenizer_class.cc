#include "text/tokenizer_class.h"

#include <fmt/core.h>

#include "base/error.h"
#include "io/printable.h"

namespace hagane::text {
namespace {

constexpr TokenizerClass Bert(std::string_view name, std::string_view model_type,
                              bool returns_token_types) {
  return {.name = name,
          .model_type = model_type,
          .kind = ClassKind::kWordPiece,
          .cls = "[CLS]",
          .sep = "[SEP]",
          .unk = "[UNK]",
          .pad = "[PAD]",
          .mask = "[MASK]",
          .returns_token_types = returns_token_types};
}

constexpr TokenizerClass SentencePiece(std::string_view name, std::string_view model_type) {
  return {.name = name, .model_type = model_type, .kind = ClassKind::kSentencePiece};
}

constexpr TokenizerClass kClasses[] = {
    Bert("Bert", "bert", true),
    Bert("DistilBert", "distilbert", false),
    Bert("Electra", "electra", true),
    {.name = "MPNet",
     .model_type = "mpnet",
     .kind = ClassKind::kWordPiece,
     .cls = "<s>",
     .sep = "</s>",
     .unk = "[UNK]",
     .pad = "<pad>",
     .mask = "<mask>",
     .mask_takes_left_space = true,
     .returns_token_types = false,
     .double_separator = true},
    {.name = "Roberta",
     .model_type = "roberta",
     .kind = ClassKind::kByteLevelBpe,
     .cls = "<s>",
     .sep = "</s>",
     .unk = "<unk>",
     .pad = "<pad>",
     .mask = "<mask>",
     .mask_takes_left_space = true,
     .returns_token_types = false,
     .double_separator = true,
     .pair_type_ids = false},
    {.name = "PreTrained", .model_type = "", .kind = ClassKind::kFromJson},
    SentencePiece("XLMRoberta", "xlm-roberta"),
    SentencePiece("Albert", "albert"),
    SentencePiece("DebertaV2", "deberta-v2"),
    SentencePiece("Camembert", "camembert"),
    SentencePiece("XLNet", "xlnet"),
    SentencePiece("BigBird", "big_bird"),
    SentencePiece("T5", "t5"),
};

std::string_view WithoutSuffix(std::string_view name) {
  for (const std::string_view suffix : {"Fast", "Tokenizer"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return name;
}

std::string KnownClasses() {
  std::string names;
  for (const TokenizerClass& known : kClasses) {
    if (known.kind == ClassKind::kSentencePiece) continue;
    if (!names.empty()) names += ", ";
    names.append(known.name)
        .append(known.kind == ClassKind::kFromJson ? "TokenizerFast" : "Tokenizer");
  }
  return names;
}

}  // namespace

void RefuseSentencePiece(const std::string& place, const std::string& what) {
  throw Error(
      fmt::format("{}: {} is a SentencePiece tokenizer, and those cannot be read yet", place, what),
      "WordPiece (BERT, DistilBERT, ELECTRA) and byte-level BPE (RoBERTa) can");
}

const TokenizerClass& FindTokenizerClass(const std::string& class_name,
                                         const std::string& model_type, const std::string& place) {
  const std::string_view name = WithoutSuffix(class_name);
  for (const TokenizerClass& known : kClasses) {
    if (class_name.empty() ? known.model_type != model_type : known.name != name) continue;
    if (known.kind == ClassKind::kSentencePiece) {
      RefuseSentencePiece(place,
                          class_name.empty()
                              ? fmt::format("that of model type \"{}\"", io::Printable(model_type))
                              : fmt::format("\"{}\"", io::Printable(class_name)));
    }
    return known;
  }
  const std::string what =
      class_name.empty()
          ? fmt::format("there is no tokenizer for model type \"{}\"", io::Printable(model_type))
          : fmt::format("tokenizer class \"{}\" is not known", io::Printable(class_name));
  throw Error(fmt::format("{}: {}", place, what), fmt::format("known are {}", KnownClasses()));
}

}  // namespace hagane::text
