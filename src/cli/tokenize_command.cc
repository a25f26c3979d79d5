#include "cli/tokenize_command.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "io/json.h"

namespace hagane::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kExpected[] =
    "a line is {\"text\": ...} or {\"a\": ..., \"b\": ...}, with an optional \"max_length\"";

struct Request {
  std::string first;
  std::optional<std::string> second;
  int max_length = 0;  // 0: no limit
};

Request ParseRequest(const std::string& line, const std::string& place,
                     const text::Tokenizer& tokenizer) {
  const Json json = io::ParseJson(line, place, io::kIndexLimits);
  if (!json.is_object()) throw Error(fmt::format("{}: not a JSON object", place), kExpected);
  Request request;
  bool has_first = false;
  for (const auto& [key, value] : json.items()) {
    if (key == "max_length") {
      if (value.is_null()) continue;
      if (!value.is_number_integer() || value.get<int64_t>() < 1 ||
          value.get<int64_t>() > INT32_MAX) {
        throw Error(fmt::format("{}: \"max_length\" must be a positive whole number", place),
                    kExpected);
      }
      request.max_length = value.get<int>();
      continue;
    }
    if (key != "text" && key != "a" && key != "b") {
      throw Error(fmt::format("{}: unknown key \"{}\"", place, key), kExpected);
    }
    if (!value.is_string())
      throw Error(fmt::format("{}: \"{}\" must be a string", place, key), kExpected);
    if (key == "b") {
      request.second = value.get<std::string>();
    } else if (!has_first) {
      request.first = value.get<std::string>();
      has_first = true;
    } else {
      throw Error(fmt::format("{}: \"text\" and \"a\" exclude each other", place), kExpected);
    }
  }
  if (!has_first || json.contains("text") == request.second.has_value()) {
    throw Error(fmt::format("{}: neither a text nor a pair", place), kExpected);
  }
  const int special = tokenizer.special_tokens(request.second.has_value());
  if (request.max_length > 0 && request.max_length < special) {
    throw Error(fmt::format("{}: \"max_length\" {} leaves no room for the {} special tokens", place,
                            request.max_length, special),
                "raise it");
  }
  return request;
}

void AppendEncoding(const text::Encoding& encoding, std::string& line) {
  auto out = std::back_inserter(line);
  fmt::format_to(out, "{{\"ids\": [{}], \"offsets\": [", fmt::join(encoding.ids, ", "));
  const char* separator = "";
  for (const text::Offset& offset : encoding.offsets) {
    fmt::format_to(out, "{}[{}, {}]", separator, offset.begin, offset.end);
    separator = ", ";
  }
  fmt::format_to(out, "], \"token_type_ids\": [{}]}}\n", fmt::join(encoding.type_ids, ", "));
}

}  // namespace

int64_t TokenizeLines(const text::Tokenizer& tokenizer, std::istream& in, std::ostream& out,
                      const std::string& origin) {
  int64_t written = 0;
  std::string line, result;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Request request = ParseRequest(line, fmt::format("{}:{}", origin, number), tokenizer);
    const std::string_view second =
        request.second ? std::string_view(*request.second) : std::string_view();
    const text::Encoding encoding = tokenizer.Encode(
        request.first, request.second ? &second : nullptr, request.max_length, true);
    result.clear();
    AppendEncoding(encoding, result);
    out << result;
    ++written;
  }
  if (in.bad()) throw Error(fmt::format("{}: reading failed after {} lines", origin, written));
  return written;
}

}  // namespace hagane::cli
