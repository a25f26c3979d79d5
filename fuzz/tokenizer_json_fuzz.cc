// tokenizer.json and, as a second part, tokenizer_config.json.
#include "fuzz/tokenizer_files.h"

void hagane::fuzz::Read(std::string_view input) {
  static const Folder folder;
  const auto parts = Parts(input, 2);
  folder.Write("tokenizer.json", parts[0]);
  folder.WriteOrRemove("tokenizer_config.json", parts[1]);
  CheckTokenizerFolder(folder, "");
}
