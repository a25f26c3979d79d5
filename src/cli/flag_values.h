// Values of flags, held against their ranges. Each throws a usage Error that names flag, value and
// range.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "cli/flag_parser.h"

namespace hagane::cli {

[[noreturn]] void OutOfRange(std::string_view flag, const std::string& value, const char* expected);

int64_t IntFrom(const ParsedFlags& flags, std::string_view name, int64_t least);
// From 1 to 2^31 - 1: of rows and batches, whose products must fit.
int64_t CountFrom(const ParsedFlags& flags, std::string_view name);
std::optional<int64_t> RowLimit(const ParsedFlags& flags, std::string_view name);

double FloatIn(const ParsedFlags& flags, std::string_view name, bool (*good)(double),
               const char* expected);
double FloatFromZero(const ParsedFlags& flags, std::string_view name);
double FloatBelowOne(const ParsedFlags& flags, std::string_view name);  // and from 0

// `~` is the home folder, as the reference expands it.
std::filesystem::path ExpandHome(const std::string& path);
std::optional<std::filesystem::path> OptionalPath(const ParsedFlags& flags, std::string_view name);

}  // namespace hagane::cli
