// The records of a JSON file one by one: JSON lines, an array of objects, an object whose key
// `data` holds that array, or objects one after the other. Only one record is in memory at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/mapped_file.h"

namespace hagane::data {

class JsonRecords {
 public:
  explicit JsonRecords(const std::filesystem::path& path);

  // The next object; false at the end. Throws an Error naming the place of what is no object.
  bool Next(nlohmann::ordered_json* record);

  int64_t line() const { return line_; }  // of the file, from 1: where the record begins
  std::string Place() const;              // "folder/train.json:4"
  // The text of a member beside `data`; empty when there is none.
  std::string_view Member(std::string_view name) const;

 private:
  enum class Form { kLines, kArray, kSequence };

  Form FindForm();              // and sets position_ to the first record
  std::string_view NextText();  // empty at the end
  std::string_view NextLine();
  std::string_view NextValue();
  size_t SkipBlanks(size_t position) const;
  size_t ValueEnd(size_t position) const;                         // npos: it never ends
  size_t FindMember(size_t object, std::string_view name) const;  // its value; npos: none
  void MoveTo(size_t position);
  Error Broken(const std::string& what) const;

  std::filesystem::path path_;
  std::shared_ptr<const io::MappedFile> file_;
  std::string_view text_;
  Form form_ = Form::kLines;
  size_t position_ = 0, line_position_ = 0;
  int64_t line_ = 1;
  bool first_ = true;
  size_t object_ = std::string_view::npos;  // whose `data` the array is
};

}  // namespace hagane::data
