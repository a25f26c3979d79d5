#include "cli/reference_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "io/tensor_file.h"

namespace hagane::cli {

namespace {

const io::TensorView& Require(const io::TensorFile& file, const std::string& name) {
  if (const io::TensorView* tensor = file.Find(name)) return *tensor;
  throw Error(fmt::format("{}: no tensor \"{}\"", file.origin(), name),
              "docs/verify.md shows how to write a reference file");
}

std::vector<float> Floats(const io::TensorView& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  io::CopyToFloat(tensor, values);
  return values;
}

bool IsFloating(io::DType dtype) {
  return dtype == io::DType::kF64 || dtype == io::DType::kF32 || dtype == io::DType::kF16 ||
         dtype == io::DType::kBf16;
}

[[noreturn]] void WrongShape(const io::TensorFile& file, const std::string& name) {
  throw Error(fmt::format("{}: tensor \"{}\" is {}", file.origin(), name,
                          io::ShapeText(Require(file, name).shape)),
              "docs/verify.md lists the shapes");
}

// The padded batch as rows without padding; `attention_mask` receives in.attention_mask.
data::Features ReadBatch(const io::TensorFile& file, const nn::EncoderConfig& encoder,
                         std::vector<int64_t>* attention_mask) {
  const io::TensorView& id_tensor = Require(file, "in.input_ids");
  if (id_tensor.shape.size() != 2) WrongShape(file, "in.input_ids");
  const auto rows = static_cast<size_t>(id_tensor.shape[0]);
  const auto length = static_cast<size_t>(id_tensor.shape[1]);
  const auto ids = io::CopyToInt(id_tensor, "in.input_ids");
  std::vector<int64_t>& mask = *attention_mask;
  mask = io::CopyToInt(Require(file, "in.attention_mask"), "in.attention_mask");
  std::vector<int64_t> types;
  if (const io::TensorView* tensor = file.Find("in.token_type_ids")) {
    types = io::CopyToInt(*tensor, "in.token_type_ids");
    if (types.size() != ids.size()) WrongShape(file, "in.token_type_ids");
  }
  if (mask.size() != ids.size()) WrongShape(file, "in.attention_mask");

  data::Features batch;
  batch.row_start.push_back(0);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = row * length; i < (row + 1) * length; ++i) {
      if (mask[i] == 0) continue;
      if (ids[i] < 0 || ids[i] >= encoder.vocab_size) {
        throw Error(fmt::format("{}: in.input_ids holds {}, the model has {} tokens", file.origin(),
                                ids[i], encoder.vocab_size));
      }
      batch.ids.push_back(static_cast<int32_t>(ids[i]));
      if (types.empty()) continue;
      if (types[i] < 0 || types[i] >= std::max(1, encoder.type_vocab_size)) {
        throw Error(fmt::format("{}: in.token_type_ids holds {}, the model has {} types",
                                file.origin(), types[i], encoder.type_vocab_size));
      }
      batch.segments.push_back(static_cast<uint8_t>(types[i]));
    }
    batch.row_start.push_back(batch.tokens());
    const int tokens = batch.length(static_cast<int64_t>(row));
    if (tokens == 0 || tokens > encoder.longest_sequence()) {
      throw Error(fmt::format("{}: row {} of the batch has {} tokens, the model takes 1 to {}",
                              file.origin(), row, tokens, encoder.longest_sequence()));
    }
  }
  return batch;
}

// The labels' type says what the problem is, as it does for the reference.
void ReadLabels(const io::TensorFile& file, int outputs, data::Features* batch) {
  const io::TensorView& tensor = Require(file, "in.labels");
  const auto rows = static_cast<size_t>(batch->rows());
  batch->outputs = outputs;
  batch->has_labels = true;
  if (!IsFloating(tensor.dtype)) {
    batch->problem = ProblemType::kSingleLabel;
    for (const int64_t label : io::CopyToInt(tensor, "in.labels")) {
      if (label < 0 || label >= outputs) {
        throw Error(fmt::format("{}: in.labels holds {}, out.logits has {} outputs", file.origin(),
                                label, outputs));
      }
      batch->class_labels.push_back(static_cast<int32_t>(label));
    }
    if (batch->class_labels.size() != rows) WrongShape(file, "in.labels");
    return;
  }
  batch->problem = tensor.shape.size() == 1 ? ProblemType::kRegression : ProblemType::kMultiLabel;
  batch->float_labels = Floats(tensor);
  const auto wanted = rows * static_cast<size_t>(outputs);
  if (batch->float_labels.size() != wanted) WrongShape(file, "in.labels");
}

// Place of each row's label among the tokens that count.
std::vector<int32_t> ReadPositions(const io::TensorFile& file, const std::string& name,
                                   const std::vector<int64_t>& mask, size_t rows) {
  const std::vector<int64_t> columns = io::CopyToInt(Require(file, name), name);
  if (columns.size() != rows) WrongShape(file, name);
  const auto length = static_cast<int64_t>(mask.size() / rows);
  std::vector<int32_t> positions;
  for (size_t row = 0; row < rows; ++row) {
    const int64_t column = columns[row];
    const auto begin = mask.begin() + static_cast<std::ptrdiff_t>(row) * length;
    if (column < 0 || column >= length || begin[column] == 0) {
      throw Error(fmt::format("{}: {} of row {} is {}, where there is no token", file.origin(),
                              name, row, column));
    }
    positions.push_back(
        static_cast<int32_t>(std::count_if(begin, begin + column, [](auto m) { return m != 0; })));
  }
  return positions;
}

void ReadSpans(const io::TensorFile& file, const std::vector<int64_t>& mask, Reference* reference) {
  data::Features& rows = reference->rows;
  rows.problem = ProblemType::kSpan;
  rows.outputs = 2;
  rows.has_labels = true;
  const auto count = static_cast<size_t>(rows.rows());
  rows.start_labels = ReadPositions(file, "in.start_positions", mask, count);
  rows.end_labels = ReadPositions(file, "in.end_positions", mask, count);
  const auto logits = [&](const char* name) {
    std::vector<float> values = Floats(Require(file, name));
    if (values.size() != mask.size()) WrongShape(file, name);
    return values;
  };
  const std::vector<float> starts = logits("out.start_logits"), ends = logits("out.end_logits");
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) continue;
    reference->logits.push_back(starts[i]);
    reference->logits.push_back(ends[i]);
  }
}

}  // namespace

Reference ReadReference(const io::TensorFile& file, const nn::EncoderConfig& encoder) {
  Reference reference;
  std::vector<int64_t> mask;
  reference.rows = ReadBatch(file, encoder, &mask);
  const std::vector<float> loss = Floats(Require(file, "out.loss"));
  if (loss.size() != 1) WrongShape(file, "out.loss");
  reference.loss = static_cast<double>(loss[0]);
  if (file.Find("out.start_logits") != nullptr) {
    ReadSpans(file, mask, &reference);
    return reference;
  }
  const io::TensorView& logits = Require(file, "out.logits");
  if (logits.shape.size() != 2 || logits.shape[0] != reference.rows.rows() || logits.shape[1] < 1 ||
      logits.shape[1] > (1 << 20)) {
    WrongShape(file, "out.logits");
  }
  ReadLabels(file, static_cast<int>(logits.shape[1]), &reference.rows);
  reference.logits = Floats(logits);
  return reference;
}

}  // namespace hagane::cli
