// The files of a model folder besides the weights: config.json and what the tokenizer needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hagane::io {

// config.json, kept whole: what hagane does not know must survive saving. The getters return
// `fallback` where the key is absent or null and throw an Error naming file and key where its value
// has another type or is out of range.
class ModelConfig {
 public:
  // Throws an Error when the folder or its config.json is missing or damaged.
  static ModelConfig Read(const std::filesystem::path& folder);
  // `origin` stands for the file name in errors.
  ModelConfig(nlohmann::ordered_json raw, std::string origin);
  ModelConfig(const ModelConfig& other);
  ModelConfig(ModelConfig&&) noexcept;
  ModelConfig& operator=(ModelConfig other) noexcept;
  ~ModelConfig();

  const nlohmann::ordered_json& raw() const { return *raw_; }
  const std::string& origin() const { return origin_; }

  // Throws when model_type is missing or none of `supported`; the hint lists them.
  std::string ModelType(std::span<const std::string_view> supported) const;

  bool Has(const char* key) const;  // there and not null
  int GetInt(const char* key, int fallback, int least = 0,
             int most = std::numeric_limits<int>::max()) const;
  double GetNumber(const char* key, double fallback) const;  // 1 counts as 1.0
  bool GetBool(const char* key, bool fallback) const;
  std::string GetString(const char* key, const std::string& fallback) const;
  // The same without a fallback: a missing key is an Error.
  int RequireInt(const char* key, int least = 0, int most = std::numeric_limits<int>::max()) const;

  // id2label in the order of its ids; empty when absent. Ids other than 0 ... n-1 are an Error.
  std::vector<std::string> Labels() const;

 private:
  const nlohmann::ordered_json* Value(const char* key) const;  // null: absent
  [[noreturn]] void Fail(const char* key, const std::string& why) const;

  std::unique_ptr<nlohmann::ordered_json> raw_;
  std::string origin_;
};

// folder/config.json as transformers writes it: indent 2, keys sorted (the keys of id2label as
// numbers), a final newline.
void WriteModelConfig(const std::filesystem::path& folder, const nlohmann::ordered_json& config);

// Copies the tokenizer files that `from` has (tokenizer.json, vocabularies, ...) and returns their
// names. Nothing is done when both are the same folder.
std::vector<std::string> CopyTokenizerFiles(const std::filesystem::path& from,
                                            const std::filesystem::path& to);

}  // namespace hagane::io
