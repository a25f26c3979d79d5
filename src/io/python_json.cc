// Writing JSON as Python's json module does, so that files can be compared byte for byte.
#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "io/json.h"

namespace hagane::io {
namespace {

using Json = nlohmann::ordered_json;

class PythonWriter {
 public:
  PythonWriter(int indent, bool sort_keys) : indent_(indent), sort_keys_(sort_keys) {}

  std::string Take() { return std::move(out_); }

  void Write(const Json& value, int depth) {
    switch (value.type()) {
      case Json::value_t::object:
        return WriteObject(value, depth);
      case Json::value_t::array: {
        if (value.empty()) {
          out_ += "[]";
          return;
        }
        out_ += '[';
        bool first = true;
        for (const Json& element : value) {
          Separate(first, depth + 1);
          Write(element, depth + 1);
        }
        NewLine(depth);
        out_ += ']';
        return;
      }
      case Json::value_t::string:
        return WriteString(value.get_ref<const std::string&>());
      case Json::value_t::boolean:
        out_ += value.get<bool>() ? "true" : "false";
        return;
      case Json::value_t::number_integer:
        out_ += std::to_string(value.get<int64_t>());
        return;
      case Json::value_t::number_unsigned:
        out_ += std::to_string(value.get<uint64_t>());
        return;
      case Json::value_t::number_float:
        return WriteFloat(value.get<double>());
      case Json::value_t::null:
      case Json::value_t::binary:
      case Json::value_t::discarded:
        out_ += "null";
        return;
    }
  }

 private:
  void WriteObject(const Json& object, int depth) {
    if (object.empty()) {
      out_ += "{}";
      return;
    }
    std::vector<const Json::object_t::value_type*> members;
    for (const auto& member : object.get_ref<const Json::object_t&>()) members.push_back(&member);
    if (sort_keys_) {  // UTF-8 bytes sort as Python's code points do
      std::sort(members.begin(), members.end(),
                [](const auto* a, const auto* b) { return a->first < b->first; });
    }
    out_ += '{';
    bool first = true;
    for (const auto* member : members) {
      Separate(first, depth + 1);
      WriteString(member->first);
      out_ += ": ";
      Write(member->second, depth + 1);
    }
    NewLine(depth);
    out_ += '}';
  }

  void Separate(bool& first, int depth) {
    if (!first) out_ += indent_ < 0 ? ", " : ",";
    first = false;
    NewLine(depth);
  }
  void NewLine(int depth) {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(indent_ * depth), ' ');
  }

  void WriteFloat(double value) {
    if (std::isnan(value)) {
      out_ += "NaN";
    } else if (std::isinf(value)) {
      out_ += value > 0 ? "Infinity" : "-Infinity";
    } else {
      out_ += PythonFloat(value);
    }
  }

  void WriteString(std::string_view text) {
    out_ += '"';
    while (!text.empty()) {
      const char c = text.front();
      if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
        out_ += c;
        text.remove_prefix(1);
        continue;
      }
      utf8proc_int32_t code = -1;
      auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &code);
      if (length <= 0) {  // no UTF-8, as in odd file names: Python's surrogateescape
        code = 0xdc00 + static_cast<unsigned char>(c);
        length = 1;
      }
      WriteEscaped(code);
      text.remove_prefix(static_cast<size_t>(length));
    }
    out_ += '"';
  }

  void WriteEscaped(int32_t code) {
    switch (code) {
      case '"':
        out_ += "\\\"";
        return;
      case '\\':
        out_ += "\\\\";
        return;
      case '\n':
        out_ += "\\n";
        return;
      case '\r':
        out_ += "\\r";
        return;
      case '\t':
        out_ += "\\t";
        return;
      case '\f':
        out_ += "\\f";
        return;
      case '\b':
        out_ += "\\b";
        return;
      default:
        break;
    }
    if (code >= 0x10000) {
      const int32_t above = code - 0x10000;
      out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (above >> 10), 0xdc00 + (above & 0x3ff));
    } else {
      out_ += fmt::format("\\u{:04x}", code);
    }
  }

  int indent_;
  bool sort_keys_;
  std::string out_;
};

}  // namespace

std::string PythonFloat(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  // Shortest digits that read back the same, as "d.ddde-05".
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(end.ptr - buffer));
  const size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), end.ptr, exponent);
  if (exponent < -4 || exponent >= 16) return std::string(text);

  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const std::string sign = text.front() == '-' ? "-" : "";
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits.append(whole - digits.size(), '0') + ".0";
  return sign + digits.insert(whole, ".");
}

std::string DumpPython(const Json& value, int indent, bool sort_keys) {
  PythonWriter writer(indent, sort_keys);
  writer.Write(value, 0);
  return writer.Take();
}

}  // namespace hagane::io
