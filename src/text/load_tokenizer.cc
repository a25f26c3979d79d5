// From a model folder to a tokenizer. Who wins where files disagree is the reference's order:
// tokenizer_config.json, then tokenizer.json, then what the tokenizer class implies.
#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "io/printable.h"
#include "text/byte_level_bpe.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"
#include "text/tokenizer_settings.h"
#include "text/tokenizer_spec.h"
#include "text/vocabulary_files.h"
#include "text/wordpiece.h"

namespace hagane::text {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizerFiles[] = {"tokenizer.json",
                                           "tokenizer_config.json",
                                           "special_tokens_map.json",
                                           "added_tokens.json",
                                           "vocab.txt",
                                           "vocab.json",
                                           "merges.txt"};
constexpr const char* kSentencePieceFiles[] = {"sentencepiece.bpe.model", "spiece.model",
                                               "spm.model"};

fs::path RequireFile(const fs::path& folder, const char* name) {
  if (fs::exists(folder / name)) return folder / name;
  for (const char* other : kSentencePieceFiles) {
    if (fs::exists(folder / other)) RefuseSentencePiece(folder.string(), other);
  }
  throw Error(
      fmt::format("{}: the folder has neither tokenizer.json nor {}", folder.string(), name),
      "give the folder of a model with its tokenizer files, or --tokenizer_name");
}

void ReadVocabulary(const fs::path& folder, const TokenizerClass& tokenizer_class, Log& log,
                    TokenizerSpec& spec) {
  const bool from_json = fs::exists(folder / "tokenizer.json");
  if (from_json) {
    ReadTokenizerJson(folder / "tokenizer.json", spec);
  } else if (tokenizer_class.kind == ClassKind::kWordPiece) {
    spec.kind = TokenizerKind::kWordPiece;
    ReadVocabTxt(RequireFile(folder, "vocab.txt"), log, spec);
  } else if (tokenizer_class.kind == ClassKind::kByteLevelBpe) {
    spec.kind = TokenizerKind::kByteLevelBpe;
    ReadVocabJson(RequireFile(folder, "vocab.json"), spec);
    ReadMergesTxt(RequireFile(folder, "merges.txt"), spec);
  } else {
    throw Error(
        fmt::format(
            "{}: the folder has no tokenizer.json and does not say which class its tokenizer is",
            folder.string()),
        "add config.json with model_type, or tokenizer_config.json with tokenizer_class");
  }
  const bool class_is_bpe = tokenizer_class.kind == ClassKind::kByteLevelBpe;
  if (tokenizer_class.kind != ClassKind::kFromJson &&
      class_is_bpe != (spec.kind == TokenizerKind::kByteLevelBpe)) {
    throw Error(fmt::format("{}: the file holds a {} model, but the tokenizer class is {}Tokenizer",
                            spec.vocabulary_file.string(), class_is_bpe ? "WordPiece" : "BPE",
                            tokenizer_class.name),
                "correct tokenizer_class in tokenizer_config.json");
  }
}

bool IsCased(const Vocabulary& vocabulary) {
  return std::any_of(vocabulary.begin(), vocabulary.end(), [](const auto& entry) {
    const std::string& token = entry.first;
    return !token.starts_with('[') &&
           std::any_of(token.begin(), token.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

// tokenizer_config.json over tokenizer.json, also where it is silent: then the class default
// counts.
void ApplySettings(const TokenizerSettings& settings, Log& log, TokenizerSpec& spec) {
  const ClassKind kind = settings.tokenizer_class->kind;
  if (kind == ClassKind::kWordPiece) {
    BertNormalizerOptions& normalizer = spec.word_piece.normalizer;
    normalizer.lowercase = settings.do_lower_case.value_or(true);
    normalizer.strip_accents = settings.strip_accents.value_or(normalizer.lowercase);
    normalizer.handle_chinese_chars = settings.tokenize_chinese_chars.value_or(true);
    if (!settings.do_lower_case && IsCased(spec.vocabulary)) {
      log.Warning(
          fmt::format("{}: do_lower_case is not given, so text is lower-cased as in the reference, "
                      "although {} has cased tokens",
                      settings.config_file, spec.vocabulary_file.filename().string()));
    }
  } else if (kind == ClassKind::kByteLevelBpe) {
    ByteLevelBpeSpec& bpe = spec.byte_level;
    bpe.add_prefix_space = bpe.trim_keeps_prefix = settings.add_prefix_space.value_or(false);
    bpe.trim_offsets = settings.trim_offsets.value_or(true);
  }
  spec.returns_token_types =
      settings.returns_token_types.value_or(settings.tokenizer_class->returns_token_types);
  spec.model_max_length = settings.model_max_length;
}

// Added tokens by content: a source that comes later outranks the earlier ones.
class AddedTokens {
 public:
  explicit AddedTokens(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  void Put(const AddedToken& token) {
    const auto [entry, is_new] = places_.emplace(token.content, tokens_.size());
    if (is_new) {
      tokens_.push_back(token);
    } else {
      AddedToken& same = tokens_[entry->second];
      const int32_t id = token.id >= 0 ? token.id : same.id;
      same = token;
      same.id = id;
    }
  }
  void Put(const std::vector<AddedToken>& tokens) {
    for (const AddedToken& token : tokens) Put(token);
  }
  // A token that only the class knows counts when the vocabulary has it.
  void PutIfKnown(const AddedToken& token) {
    if (vocabulary_.Find(token.content) >= 0) Put(token);
  }

  // The vocabulary's id, else that of the file, else the next free one.
  std::vector<AddedToken> WithIds() const {
    std::vector<AddedToken> tokens = tokens_;
    int32_t next = vocabulary_.end_id();
    for (AddedToken& token : tokens) {
      if (const int32_t id = vocabulary_.Find(token.content); id >= 0) token.id = id;
      next = std::max(next, token.id + 1);
    }
    for (AddedToken& token : tokens) {
      if (token.id < 0) token.id = next++;
    }
    return tokens;
  }

 private:
  const Vocabulary& vocabulary_;
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string, size_t> places_;  // in tokens_, by content
};

void CollectAddedTokens(const TokenizerSettings& settings, TokenizerSpec& spec) {
  AddedTokens added(spec.vocabulary);
  for (const auto& [key, token] : settings.special_tokens) added.PutIfKnown(token);
  added.Put(settings.named_tokens);
  added.Put(settings.legacy_tokens);
  added.Put(spec.added_tokens);  // tokenizer.json's
  added.Put(settings.decoder_tokens);
  spec.added_tokens = added.WithIds();
}

// -1 when neither the vocabulary nor an added token has it.
int32_t FindToken(const TokenizerSpec& spec, const std::string& content) {
  for (const AddedToken& token : spec.added_tokens) {
    if (token.content == content) return token.id;
  }
  return spec.vocabulary.Find(content);
}

int32_t RequireToken(const TokenizerSpec& spec, const std::string& content) {
  const int32_t id = FindToken(spec, content);
  if (id < 0) {
    throw Error(fmt::format("{}: the vocabulary has no {}", spec.vocabulary_file.string(),
                            io::Printable(content)),
                "take the vocabulary file from the model's own folder");
  }
  return id;
}

}  // namespace

std::unique_ptr<Tokenizer> LoadTokenizer(const std::filesystem::path& folder,
                                         const std::string& model_type, Log& log) {
  const TokenizerSettings settings = ReadTokenizerSettings(folder, model_type);
  const TokenizerClass& tokenizer_class = *settings.tokenizer_class;
  TokenizerSpec spec;
  if (!tokenizer_class.unk.empty()) spec.word_piece.unk_token = settings.Content("unk_token");
  ReadVocabulary(folder, tokenizer_class, log, spec);
  ApplySettings(settings, log, spec);
  CollectAddedTokens(settings, spec);
  if (spec.post.cls_id < 0) {  // no tokenizer.json
    spec.post = {RequireToken(spec, settings.Content("cls_token")),
                 RequireToken(spec, settings.Content("sep_token")),
                 tokenizer_class.double_separator, tokenizer_class.pair_type_ids};
  }
  spec.pad_id = std::max(0, FindToken(spec, settings.Content("pad_token")));
  for (const char* name : kTokenizerFiles) {
    if (fs::exists(folder / name)) spec.files.push_back(folder / name);
  }
  if (spec.kind == TokenizerKind::kWordPiece) return std::make_unique<WordPieceTokenizer>(spec);
  return std::make_unique<ByteLevelBpeTokenizer>(spec);
}

}  // namespace hagane::text
