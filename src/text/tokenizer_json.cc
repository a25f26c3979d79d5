#include "text/tokenizer_json.h"

#include "io/json.h"
#include "text/added_token_json.h"
#include "text/json_fields.h"
#include "text/tokenizer_class.h"

namespace hagane::text {
namespace {

std::string TypeOf(const Json* component, const std::string& file) {
  if (component == nullptr) return "null";
  return StringField(*component, "type", file).value_or("");
}

[[noreturn]] void RefuseComponent(const std::string& file, const char* component,
                                  const std::string& type, const char* known) {
  if (type == "Metaspace" || type == "Precompiled" || type == "Unigram") {
    RefuseSentencePiece(file, fmt::format("{} \"{}\"", component, type));
  }
  throw Error(fmt::format("{}: {} \"{}\" is not known", file, component, io::Printable(type)),
              fmt::format("known: {}", known));
}

// A setting of which only the value that changes nothing is supported.
void RequireOff(const Json& component, const char* key, const std::string& file) {
  const Json* value = FindField(component, key);
  if (value == nullptr || *value == Json(false) || *value == Json("") || *value == Json(0.0))
    return;
  throw Error(fmt::format("{}: \"{}\" of the model is not supported", file, key),
              "use a tokenizer without it");
}

class Reader {
 public:
  Reader(const std::filesystem::path& path, TokenizerSpec& spec)
      : file_(path.string()), root_(io::ReadJsonFile(path, io::kTokenizerLimits)), spec_(spec) {
    spec_.vocabulary_file = path;
  }

  void Read() {
    const Json* model = FindField(root_, "model");
    if (model == nullptr) throw WrongField(file_, "model", "an object");
    std::string type = TypeOf(model, file_);
    // Files of the first versions do not name it.
    if (type.empty()) type = FindField(*model, "merges") != nullptr ? "BPE" : "WordPiece";
    if (type != "WordPiece" && type != "BPE")
      RefuseComponent(file_, "model", type, "WordPiece, BPE");
    spec_.kind = type == "BPE" ? TokenizerKind::kByteLevelBpe : TokenizerKind::kWordPiece;
    ReadVocabulary(*model);
    if (spec_.kind == TokenizerKind::kWordPiece) {
      ReadWordPiece(*model);
    } else {
      ReadBpe(*model);
    }
    ReadAddedTokens();
    ReadPostProcessor(FindField(root_, "post_processor"));
    if (spec_.post.cls_id < 0) {
      throw Error(
          fmt::format("{}: no post-processor adds the special tokens at the ends of a text", file_),
          "encoders need TemplateProcessing, BertProcessing or RobertaProcessing");
    }
  }

 private:
  void ReadVocabulary(const Json& model) {
    const Json* vocabulary = FindField(model, "vocab");
    if (vocabulary == nullptr || !vocabulary->is_object() || vocabulary->empty()) {
      throw WrongField(file_, "vocab", "an object of token: id that is not empty");
    }
    for (const auto& [token, id] : vocabulary->items()) {
      spec_.vocabulary.Add(token, static_cast<int32_t>(IndexValue(id, kMaxTokenId, token, file_)));
    }
  }

  void ReadWordPiece(const Json& model) {
    WordPieceSpec& piece = spec_.word_piece;
    piece.unk_token = StringField(model, "unk_token", file_).value_or(piece.unk_token);
    piece.continuing_prefix =
        StringField(model, "continuing_subword_prefix", file_).value_or(piece.continuing_prefix);
    if (const Json* limit = FindField(model, "max_input_chars_per_word")) {
      piece.max_chars_per_word =
          static_cast<int>(IndexValue(*limit, INT32_MAX, "max_input_chars_per_word", file_));
    }
    const Json* normalizer = FindField(root_, "normalizer");
    const std::string type = TypeOf(normalizer, file_);
    if (type == "null") {
      piece.normalizer = {false, false, false, false};
    } else if (type == "BertNormalizer") {
      const auto option = [&](const char* key, bool fallback) {
        return BoolField(*normalizer, key, file_).value_or(fallback);
      };
      const bool lowercase = option("lowercase", true);
      piece.normalizer = {option("clean_text", true), option("handle_chinese_chars", true),
                          option("strip_accents", lowercase), lowercase};
    } else {
      RefuseComponent(file_, "normalizer", type, "BertNormalizer with a WordPiece model");
    }
    const std::string pre_tokenizer = TypeOf(FindField(root_, "pre_tokenizer"), file_);
    if (pre_tokenizer != "BertPreTokenizer") {
      RefuseComponent(file_, "pre_tokenizer", pre_tokenizer,
                      "BertPreTokenizer with a WordPiece model");
    }
  }

  void ReadBpe(const Json& model) {
    for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix",
                            "fuse_unk", "byte_fallback", "ignore_merges"}) {
      RequireOff(model, key, file_);
    }
    ByteLevelBpeSpec& bpe = spec_.byte_level;
    bpe.unk_token = StringField(model, "unk_token", file_).value_or("");
    const std::string normalizer = TypeOf(FindField(root_, "normalizer"), file_);
    if (normalizer != "null")
      RefuseComponent(file_, "normalizer", normalizer, "none with a BPE model");
    const Json* pre_tokenizer = FindField(root_, "pre_tokenizer");
    const std::string type = TypeOf(pre_tokenizer, file_);
    if (type != "ByteLevel")
      RefuseComponent(file_, "pre_tokenizer", type, "ByteLevel with a BPE model");
    bpe.add_prefix_space = BoolField(*pre_tokenizer, "add_prefix_space", file_).value_or(true);
    bpe.use_regex = BoolField(*pre_tokenizer, "use_regex", file_).value_or(true);
    bpe.trim_offsets = false;  // the post-processor's business

    const Json* merges = FindField(model, "merges");
    if (merges == nullptr || !merges->is_array()) throw WrongField(file_, "merges", "a list");
    for (size_t i = 0; i < merges->size(); ++i)
      ReadMerge((*merges)[i], fmt::format("{}: merge {}", file_, i + 1));
  }

  // "left right" or, since 2024, ["left", "right"].
  void ReadMerge(const Json& merge, const std::string& place) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      return AddMerge(merge[0].get_ref<const std::string&>(),
                      merge[1].get_ref<const std::string&>(), place, spec_);
    }
    const std::string_view text =
        merge.is_string() ? std::string_view(merge.get_ref<const std::string&>()) : "";
    const size_t blank = text.find(' ');
    if (blank == std::string_view::npos || text.find(' ', blank + 1) != std::string_view::npos) {
      throw Error(fmt::format("{} must be two tokens", place),
                  "the file is damaged; copy it again");
    }
    AddMerge(text.substr(0, blank), text.substr(blank + 1), place, spec_);
  }

  void ReadAddedTokens() {
    const Json* tokens = FindField(root_, "added_tokens");
    if (tokens == nullptr) return;
    if (!tokens->is_array()) throw WrongField(file_, "added_tokens", "a list");
    for (const Json& token : *tokens) {
      AddedToken added = ParseAddedToken(token, false, file_);
      const Json* id = FindField(token, "id");
      if (id == nullptr) throw WrongField(file_, "id", "given for every added token");
      added.id = static_cast<int32_t>(IndexValue(*id, kMaxTokenId, "id", file_));
      spec_.added_tokens.push_back(std::move(added));
    }
  }

  void ReadPostProcessor(const Json* processor) {
    const std::string type = TypeOf(processor, file_);
    if (type == "TemplateProcessing") {
      ReadTemplate(*processor);
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      spec_.post.cls_id = NamedId(*processor, "cls");
      spec_.post.sep_id = NamedId(*processor, "sep");
      spec_.post.double_separator = type == "RobertaProcessing";
      spec_.post.pair_type_ids = type == "BertProcessing";
      if (type == "RobertaProcessing") ReadTrimming(*processor);
    } else if (type == "ByteLevel") {
      ReadTrimming(*processor);
    } else if (type == "Sequence" && FindField(*processor, "processors") != nullptr) {
      for (const Json& part : *FindField(*processor, "processors")) ReadPostProcessor(&part);
    } else {
      RefuseComponent(file_, "post_processor", type,
                      "TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, Sequence");
    }
  }

  void ReadTrimming(const Json& processor) {
    spec_.byte_level.trim_offsets = BoolField(processor, "trim_offsets", file_).value_or(true);
    spec_.byte_level.trim_keeps_prefix =
        BoolField(processor, "add_prefix_space", file_).value_or(true);
  }

  // "cls": ["[CLS]", 101]
  int32_t NamedId(const Json& processor, const char* key) {
    const Json* pair = FindField(processor, key);
    if (pair == nullptr || !pair->is_array() || pair->size() != 2)
      throw WrongField(file_, key, "[token, id]");
    return static_cast<int32_t>(IndexValue((*pair)[1], kMaxTokenId, key, file_));
  }

  // A special token by its id, or one of the two texts.
  struct TemplateItem {
    int32_t id;
    int64_t type;
    bool operator==(const TemplateItem&) const = default;
  };
  static constexpr int32_t kTextA = -1, kTextB = -2;

  std::vector<TemplateItem> TemplateItems(const Json& processor, const char* key) {
    const Json* items = FindField(processor, key);
    if (items == nullptr || !items->is_array()) throw WrongField(file_, key, "a list");
    std::vector<TemplateItem> result;
    for (const Json& item : *items) {
      const Json* special = FindField(item, "SpecialToken");
      const Json* content = special != nullptr ? special : FindField(item, "Sequence");
      if (content == nullptr) throw WrongField(file_, key, "a list of SpecialToken and Sequence");
      const std::string name = StringField(*content, "id", file_).value_or("");
      const int32_t text = name == "A" ? kTextA : kTextB;
      const Json* type = FindField(*content, "type_id");
      result.push_back({special != nullptr ? SpecialId(processor, name) : text,
                        type == nullptr ? 0 : IndexValue(*type, 1, "type_id", file_)});
    }
    return result;
  }

  int32_t SpecialId(const Json& processor, const std::string& name) {
    const Json* tokens = FindField(processor, "special_tokens");
    const Json* token = tokens == nullptr ? nullptr : FindField(*tokens, name.c_str());
    const Json* ids = token == nullptr ? nullptr : FindField(*token, "ids");
    if (ids == nullptr || !ids->is_array() || ids->size() != 1) {
      throw WrongField(file_, "special_tokens",
                       fmt::format("an object with one id for {}", io::Printable(name)).c_str());
    }
    return static_cast<int32_t>(IndexValue((*ids)[0], kMaxTokenId, name, file_));
  }

  // Accepts [CLS] A [SEP] with [CLS] A [SEP] B [SEP] or [CLS] A [SEP] [SEP] B [SEP].
  void ReadTemplate(const Json& processor) {
    TemplateSpec& post = spec_.post;
    const std::vector<TemplateItem> single = TemplateItems(processor, "single");
    const std::vector<TemplateItem> pair = TemplateItems(processor, "pair");
    if (single.size() == 3 && single[0].id >= 0 && single[2].id >= 0 && pair.size() >= 5) {
      post.cls_id = single[0].id;
      post.sep_id = single[2].id;
      post.double_separator = pair.size() == 6;
      post.pair_type_ids = pair.back().type == 1;
      std::vector<TemplateItem> expected{{post.cls_id, 0}, {kTextA, 0}, {post.sep_id, 0}};
      const bool single_known = single == expected;
      if (post.double_separator) expected.push_back({post.sep_id, 0});
      expected.push_back({kTextB, pair.back().type});
      expected.push_back({post.sep_id, pair.back().type});
      if (single_known && pair == expected) return;
    }
    throw Error(fmt::format("{}: the template of its post-processor is not known", file_),
                "known: [CLS] A [SEP] with [CLS] A [SEP] B [SEP] or [CLS] A [SEP] [SEP] B [SEP]");
  }

  const std::string file_;
  const Json root_;
  TokenizerSpec& spec_;
};

}  // namespace

void ReadTokenizerJson(const std::filesystem::path& path, TokenizerSpec& spec) {
  Reader(path, spec).Read();
}

}  // namespace hagane::text
