// What the labels of a train file mean, and the labels of other files in those terms (spec 2.2).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/raw_split.h"
#include "data/text_dataset.h"

namespace hagane::data {

class LabelCodec {
 public:
  // From all labels of `train`:
  //   numbers of which one at least is a decimal -> regression;
  //   whole numbers, true / false, or texts      -> classes, sorted (numbers as such, texts by code
  //                                                 point);
  //   JSON lists of 0 and 1 of one length        -> several labels at once, one output each;
  //   JSON lists of names                        -> the same, an output for each name, sorted.
  // Throws an Error naming the row where a label is missing or of another type than the others.
  static LabelCodec Learn(const RawSplit& train, Log& log);

  const LabelSpec& spec() const { return spec_; }

  // Fills the labels of `split`. Throws an Error naming row and label when train does not know it.
  void Encode(const RawSplit& raw, TextSplit* split) const;

 private:
  enum class Type { kReal, kInteger, kBoolean, kText, kVector, kNames };

  static Type InferType(const RawSplit& train, Type* item_type);
  void LearnNames(const RawSplit& train, Log& log);
  std::optional<std::string> NameOf(const RawLabel& label) const;
  int32_t ClassOf(const RawLabel& label, const RawSplit& raw, size_t row) const;
  float Number(const RawLabel& label, const RawSplit& raw, size_t row) const;
  void AppendOutputs(const RawLabel& label, const RawSplit& raw, size_t row,
                     std::vector<float>* outputs) const;

  LabelSpec spec_;
  Type type_ = Type::kText;
  Type name_type_ = Type::kText;  // of the classes, or of the items of the lists
  std::map<std::string, int32_t> ids_;
  std::string train_file_;
};

}  // namespace hagane::data
