#include "cli/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/run_command.h"
#include "cli/score_command.h"
#include "cli/version.h"
#include "data/nearest.h"

namespace hagane::cli {

namespace {

struct Command {
  const char* name;
  int (*run)(const std::vector<std::string>& args, const Streams& streams);
};

constexpr Command kCommands[] = {
    {"run_glue", RunGlueCommand}, {"run_qa", RunQaCommand},      {"score", ScoreCommand},
    {"verify", VerifyCommand},    {"tokenize", TokenizeCommand}, {"bench", BenchCommand},
};

const Command* FindCommand(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  for (const Command& command : kCommands) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

int Dispatch(const std::vector<std::string>& args, const Streams& streams) {
  if (args.empty()) {
    streams.err << GeneralHelp();
    return 2;
  }
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args[0] == "--version" || args[0] == "version") {
    streams.out << VersionText();
    return 0;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    const Command* const command = rest.empty() ? nullptr : FindCommand(rest[0]);
    if (command != nullptr) return command->run({"--help"}, streams);
    streams.out << GeneralHelp();
    return 0;
  }
  if (const Command* const command = FindCommand(args[0])) return command->run(rest, streams);
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  const std::string nearest = data::Nearest(args[0], names);
  throw UsageError(fmt::format("unknown command '{}'", args[0]),
                   nearest.empty() ? "hagane --help lists the commands"
                                   : fmt::format("did you mean hagane {}?", nearest));
}

void SayError(const Streams& streams, const std::string& message, const std::string& hint) {
  streams.out << std::flush;
  // In one piece: several processes may write to one terminal.
  streams.err << fmt::format("{} {}.\n{}",
                             streams.colour ? "\x1b[31merror:\x1b[0m" : "error:", message,
                             hint.empty() ? "" : fmt::format("\nhint: {}\n", hint))
              << std::flush;
}

}  // namespace

int ReportError(const Streams& streams, const std::string& prefix, std::exception_ptr problem) {
  try {
    std::rethrow_exception(std::move(problem));
  } catch (const Error& error) {
    SayError(streams, prefix + error.what(), error.hint());
    return error.kind() == ErrorKind::kUsage ? 2 : 1;
  } catch (const std::bad_alloc&) {
    SayError(streams, prefix + "out of memory",
             "lower --per_device_train_batch_size; --dry_run estimates the memory needed");
  } catch (const std::exception& error) {
    SayError(streams, prefix + error.what(), "");
  }
  return 1;
}

int Main(const std::vector<std::string>& args, const Streams& streams) {
  try {
    const int code = Dispatch(args, streams);
    streams.out << std::flush;
    if (!streams.out) throw Error("stdout cannot be written to");
    return code;
  } catch (...) {
    return ReportError(streams, "", std::current_exception());
  }
}

}  // namespace hagane::cli
