// Reading JSON that somebody else wrote: bounded size and depth, duplicate keys refused, the place
// of an error named. Everything that parses JSON from a file goes through here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace hagane::io {

struct JsonLimits {
  size_t max_bytes = size_t{1} << 20;
  int max_depth = 64;
  size_t max_values = SIZE_MAX;   // a value of two bytes of text costs some 50 in memory
  bool python_constants = false;  // NaN, Infinity and -Infinity, as Python writes them
};
// So chosen that a hostile file costs no more than its size and 64 MB.
inline constexpr JsonLimits kConfigLimits{size_t{1} << 20, 64};
inline constexpr JsonLimits kIndexLimits{size_t{64} << 20, 64, size_t{1} << 17};
inline constexpr JsonLimits kTokenizerLimits{size_t{64} << 20, 64, size_t{1} << 19};
// A run's own: with a log entry for each of some hundred thousand steps.
inline constexpr JsonLimits kTrainerStateLimits{size_t{64} << 20, 64, size_t{1} << 21, true};

// The parser keeps one string, number or stretch of blanks at a time; a text that is one of full
// length would cost several times its size. ParseJson refuses longer ones.
inline constexpr size_t kLongestJsonPiece = size_t{8} << 20;
size_t LongestJsonPiece(std::string_view json);

// Throws an Error that names the file, line and column. A UTF-8 BOM is skipped. Key order is kept.
nlohmann::ordered_json ReadJsonFile(const std::filesystem::path& path, JsonLimits limits);
// `origin` stands for the file name in errors. `whole` is given where `text` lies in it,
// as a record in a file: lines and columns are then those of the whole.
nlohmann::ordered_json ParseJson(std::string_view text, const std::string& origin,
                                 JsonLimits limits, std::string_view whole = {});

// As Python's json.dump(obj, indent=indent, sort_keys=sort) writes it, including float repr
// (1e-05, 0.1, 1.0, NaN, Infinity) and \uXXXX for non-ASCII. No final newline.
std::string DumpPython(const nlohmann::ordered_json& value, int indent, bool sort_keys);
// Python's repr(float): shortest round trip, exponent form below 1e-4 and from 1e16.
std::string PythonFloat(double value);

}  // namespace hagane::io
