// vocab.json and merges.txt of a RoBERTa tokenizer, as two parts.
#include "fuzz/tokenizer_files.h"

void hagane::fuzz::Read(std::string_view input) {
  static const Folder folder;
  const auto parts = Parts(input, 2);
  folder.Write("vocab.json", parts[0]);
  folder.Write("merges.txt", parts[1]);
  CheckTokenizerFolder(folder, "roberta");
}
