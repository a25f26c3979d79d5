// vocab.txt of a BERT tokenizer.
#include "fuzz/tokenizer_files.h"

void hagane::fuzz::Read(std::string_view input) {
  static const Folder folder;
  folder.Write("vocab.txt", input);
  CheckTokenizerFolder(folder, "bert");
}
