// Questions for the tiny model of tiny_model.h: the answer is what the text says is good.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/tiny_model.h"

namespace hagane::cli {

// Writes train.json, dev.json (the same questions in the official nested form) and test.json
// (without answers) beside the model of a TinyRun.
class TinyQuestions : public TinyRun {
 public:
  TinyQuestions() {
    nlohmann::json nested = {{"version", "1.1"}, {"data", nlohmann::json::array()}};
    nlohmann::json flat = nlohmann::json::array(), unanswered = nlohmann::json::array();
    int id = 0;
    for (const std::string noun : {"day", "night", "red", "blue", "hot", "cold"}) {
      const std::string context = "the bad a b good " + noun + " c";
      const nlohmann::json answer = {{"text", noun}, {"answer_start", 17}};
      const std::string name = "q" + std::to_string(id++);
      nested["data"].push_back(
          {{"title", noun},
           {"paragraphs",
            {{{"context", context},
              {"qas", {{{"id", name}, {"question", "the good"}, {"answers", {answer}}}}}}}}});
      flat.push_back({{"id", name},
                      {"context", context},
                      {"question", "the good"},
                      {"answers", {{"text", {noun}}, {"answer_start", {17}}}}});
      unanswered.push_back({{"id", name}, {"context", context}, {"question", "the good"}});
    }
    folder().Write("train.json", nested.dump());
    folder().Write("dev.json", nlohmann::json{{"data", flat}}.dump());
    folder().Write("test.json", nlohmann::json{{"data", unanswered}}.dump());
  }

  Args QaBase() const {
    return {"run_qa",
            "--model_name_or_path",
            Path("model"),
            "--init_from_scratch",
            "--train_file",
            Path("train.json"),
            "--validation_file",
            Path("dev.json"),
            "--test_file",
            Path("test.json"),
            "--output_dir",
            Path("out"),
            "--max_seq_length",
            "24",
            "--doc_stride",
            "4"};
  }
  // Until every answer is found.
  Args QaTraining() const {
    return QaBase() + Args{"--do_train", "--num_train_epochs",
                           "60",         "--learning_rate",
                           "1e-2",       "--per_device_train_batch_size",
                           "3"};
  }
  Args QaShort() const {
    return QaBase() + Args{"--do_train", "--max_steps", "2", "--per_device_train_batch_size", "3"};
  }
};

}  // namespace hagane::cli
