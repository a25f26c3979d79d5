// tokenizer_config.json, special_tokens_map.json, added_tokens.json and config.json beside
// vocabularies of both kinds.
#include "fuzz/tokenizer_files.h"

void hagane::fuzz::Read(std::string_view input) {
  static const Folder folder;
  static const bool made = [] {
    folder.Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nab\nthe\n<s>\n</s>\n");
    folder.Write(
        "vocab.json",
        R"({"<s>":0,"<pad>":1,"</s>":2,"<unk>":3,"a":4,"b":5,"ab":6,"[CLS]":7,"[SEP]":8})");
    folder.Write("merges.txt", "#version: 0.2\na b\n");
    return true;
  }();
  (void)made;
  const auto parts = Parts(input, 4);
  folder.WriteOrRemove("tokenizer_config.json", parts[0]);
  folder.WriteOrRemove("special_tokens_map.json", parts[1]);
  folder.WriteOrRemove("added_tokens.json", parts[2]);
  folder.WriteOrRemove("config.json", parts[3]);
  CheckTokenizerFolder(folder, "bert");
}
