#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/flag_parser.h"
#include "cli/help.h"
#include "cli/reference_check.h"

namespace hagane::cli {

namespace {

std::vector<Flag> VerifyFlags() {
  using enum FlagType;
  using enum FlagUse;
  const FlagGroup group = FlagGroup::kHagane;
  return {
      {"model", kString, "", group, "model folder", kUsed, {"model_name_or_path"}, {}, true},
      {"reference",
       kString,
       "",
       group,
       "safetensors file with the batch, its loss, logits and gradients",
       kUsed,
       {},
       {},
       true},
      {"tolerance", kFloat, "1.0", group, "factor on the limits", kUsed, {}, {}, true},
      {"bf16",
       kBool,
       "False",
       group,
       "matrix operands in bfloat16; only the logits are judged",
       kUsed,
       {},
       {},
       true},
      {"isa", kString, "", group, "instruction set", kUsed, {}, {"ref", "avx2", "avx512"}, true},
      {"threads", kInt, "0", group, "0: one for each physical core", kUsed, {}, {}, true},
      {"json", kBool, "False", group, "stdout holds one JSON object", kUsed, {}, {}, true},
      {"help", kBool, "False", group, "this text"},
  };
}

std::string Line(const Comparison& comparison) {
  const std::string verdict = comparison.allowed < 0 ? "not judged"
                              : comparison.ok()      ? "ok"
                                                     : "TOO LARGE";
  const std::string allowed =
      comparison.allowed < 0 ? "" : fmt::format("{:.2e}", comparison.allowed);
  return fmt::format("{:<72} {:9.2e} {:>9}  {}\n", comparison.name, comparison.error, allowed,
                     verdict);
}

std::string Text(const ReferenceCheck& check) {
  std::string text = fmt::format("{:<72} {:>9} {:>9}\n", "", "error", "allowed");
  text += Line(check.loss) + Line(check.logits);
  for (const Comparison& gradient : check.gradients) {
    text += Line({"grad " + gradient.name, gradient.error, gradient.allowed});
  }
  if (!check.without_reference.empty()) {
    text += fmt::format("the reference holds no gradient of: {}\n",
                        fmt::join(check.without_reference, ", "));
  }
  const auto bad = std::count_if(check.gradients.begin(), check.gradients.end(),
                                 [](const auto& gradient) { return !gradient.ok(); });
  return text + fmt::format("{}: loss {}, logits {}, {} of {} gradients\n",
                            check.ok() ? "within tolerance" : "NOT within tolerance",
                            check.loss.ok() ? "ok" : "off", check.logits.ok() ? "ok" : "off",
                            static_cast<std::ptrdiff_t>(check.gradients.size()) - bad,
                            check.gradients.size());
}

std::string Json(const ReferenceCheck& check) {
  const auto entry = [](const Comparison& comparison) {
    nlohmann::ordered_json json{{"error", comparison.error}};
    if (comparison.allowed >= 0) json["allowed"] = comparison.allowed;
    json["ok"] = comparison.ok();
    return json;
  };
  nlohmann::ordered_json json{
      {"ok", check.ok()}, {"loss", entry(check.loss)}, {"logits", entry(check.logits)}};
  json["gradients"] = nlohmann::ordered_json::object();
  for (const Comparison& gradient : check.gradients)
    json["gradients"][gradient.name] = entry(gradient);
  json["without_reference"] = check.without_reference;
  return json.dump(2) + "\n";
}

}  // namespace

int VerifyCommand(const std::vector<std::string>& args, const Streams& streams) {
  const ParsedFlags flags = ParseFlags(VerifyFlags(), args, "hagane verify");
  if (flags.Bool("help")) {
    streams.out << CommandHelp("hagane verify --model DIR --reference FILE.safetensors [flags]",
                               "Runs the batch of a reference file and prints the largest error of "
                               "loss, logits and each gradient; exit code 1 above the tolerance.",
                               VerifyFlags(), false);
    return 0;
  }
  for (const char* name : {"model", "reference"}) {
    if (!flags.given(name)) throw UsageError(fmt::format("--{} is missing", name));
  }
  ReferenceCheckOptions options;
  options.tolerance = flags.Float("tolerance");
  if (options.tolerance < 0) throw UsageError("--tolerance must be 0 or above");
  options.bf16 = flags.Bool("bf16");
  Console console(streams, Console::Level::kAll);
  const RunContext ctx = MakeRunContext(
      flags.String("isa"), static_cast<int>(std::clamp<int64_t>(flags.Int("threads"), -1, 1 << 20)),
      console);
  const ReferenceCheck check = WithHint("check --model and --reference", [&] {
    return CheckAgainstReference(ctx, flags.String("model"), flags.String("reference"), options);
  });
  streams.out << (flags.Bool("json") ? Json(check) : Text(check));
  return check.ok() ? 0 : 1;
}

}  // namespace hagane::cli
