// Flags and files of `hagane tokenize`; its body is tokenize_command.cc.
#include <fmt/format.h>

#include <fstream>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/flag_parser.h"
#include "cli/help.h"
#include "cli/tokenize_command.h"
#include "io/model_folder.h"
#include "text/tokenizer.h"

namespace hagane::cli {

namespace {

std::vector<Flag> TokenizeFlags() {
  using enum FlagType;
  using enum FlagUse;
  const FlagGroup group = FlagGroup::kHagane;
  return {
      {"model",
       kString,
       "",
       group,
       "folder with tokenizer files",
       kUsed,
       {"model_name_or_path"},
       {},
       true},
      {"input", kString, "", group, "file of JSON lines instead of stdin", kUsed, {}, {}, true},
      {"help", kBool, "False", group, "this text"},
  };
}

// A tokenizer folder may lack config.json: then its own files must name the class.
std::string ModelType(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / "config.json")) return "";
  return io::ModelConfig::Read(folder).GetString("model_type", "");
}

}  // namespace

int TokenizeCommand(const std::vector<std::string>& args, const Streams& streams) {
  const ParsedFlags flags = ParseFlags(TokenizeFlags(), args, "hagane tokenize");
  if (flags.Bool("help")) {
    streams.out << CommandHelp("hagane tokenize --model DIR < texts.jsonl",
                               "JSON lines in, {\"text\": ...} or {\"a\": ..., \"b\": ..., "
                               "\"max_length\": N}; JSON lines out with ids, offsets and "
                               "token_type_ids.",
                               TokenizeFlags(), false);
    return 0;
  }
  if (!flags.given("model")) throw UsageError("--model is missing", "give a tokenizer's folder");
  Console console(streams, Console::Level::kAll);
  const std::filesystem::path folder = flags.String("model");
  const auto tokenizer = text::LoadTokenizer(folder, ModelType(folder), console);
  if (!flags.given("input")) {
    TokenizeLines(*tokenizer, streams.in, streams.out, "standard input");
    return 0;
  }
  const std::string path = flags.String("input");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(fmt::format("cannot open {}", path), "check --input");
  TokenizeLines(*tokenizer, file, streams.out, path);
  return 0;
}

}  // namespace hagane::cli
