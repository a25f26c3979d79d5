#include "train/trainer_state.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "io/checkpoint.h"

namespace hagane::train {

using Json = nlohmann::ordered_json;

namespace {

Json EntryToJson(const LogEntry& entry) {
  Json json = Json::object();
  for (const auto& [name, value] : entry.values) json[name] = value;
  json["epoch"] = entry.epoch;
  json["step"] = entry.step;
  return json;
}

// A whole number from 0 on. The library's own conversion would take 1e300 too, undefined as that
// is.
template <class T>
T Count(const Json& value, const std::string& key) {
  if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<int64_t>() < 0) ||
      !std::in_range<T>(value.get<uint64_t>())) {
    throw std::domain_error(fmt::format("\"{}\" is no whole number", key));
  }
  return value.get<T>();
}
template <class T = int64_t>
T Count(const Json& object, const char* key) {
  return Count<T>(object.at(key), std::string(key));
}
int64_t CountOr0(const Json& object, const char* key) {
  return object.contains(key) ? Count(object, key) : 0;
}

LogEntry EntryFromJson(const Json& json) {
  LogEntry entry;
  for (const auto& [name, value] : json.items()) {
    if (name == "epoch") {
      entry.epoch = value.get<double>();
    } else if (name == "step") {
      entry.step = Count<int64_t>(value, name);
    } else if (value.is_number()) {
      entry.values.emplace_back(name, value.get<double>());
    }
  }
  return entry;
}

}  // namespace

Json ToJson(const TrainerState& state) {
  Json json;
  json["best_metric"] = state.best_metric ? Json(*state.best_metric) : Json();
  json["best_model_checkpoint"] =
      state.best_model_checkpoint.empty() ? Json() : Json(state.best_model_checkpoint);
  json["epoch"] = state.epoch;
  json["eval_steps"] = state.eval_steps;
  json["global_step"] = state.global_step;
  json["is_hyper_param_search"] = false;
  json["is_local_process_zero"] = true;
  json["is_world_process_zero"] = true;
  json["log_history"] = Json::array();
  for (const LogEntry& entry : state.log_history) {
    json["log_history"].push_back(EntryToJson(entry));
  }
  json["logging_steps"] = state.logging_steps;
  json["max_steps"] = state.max_steps;
  json["num_input_tokens_seen"] = 0;
  json["num_train_epochs"] = state.num_train_epochs;
  json["save_steps"] = state.save_steps;
  json["stateful_callbacks"] = Json::object();
  json["total_flos"] = state.total_flos;
  json["train_batch_size"] = state.train_batch_size;
  json["trial_name"] = Json();
  json["trial_params"] = Json();
  json[io::kOwnStateKey] = {{"seed", state.seed},
                            {"data_seed", state.data_seed},
                            {"global_batch", state.global_batch},
                            {"batch_per_process", state.batch_per_process},
                            {"updates_per_epoch", state.updates_per_epoch},
                            {"loss_sum", state.loss_sum},
                            {"interval_loss", state.interval_loss},
                            {"interval_steps", state.interval_steps}};
  return json;
}

LoadedState ReadTrainerState(const std::filesystem::path& folder) {
  return ParseTrainerState(io::ReadTrainerState(folder), (folder / "trainer_state.json").string());
}

LoadedState ParseTrainerState(const Json& json, const std::string& origin) {
  LoadedState loaded;
  TrainerState& state = loaded.state;
  const auto damaged = [&](const char* why) {
    return Error(fmt::format("{}: not a trainer state ({})", origin, why),
                 "resume from another checkpoint");
  };
  try {
    state.global_step = Count(json, "global_step");
    state.epoch = json.at("epoch").is_null() ? 0.0 : json.at("epoch").get<double>();
    state.max_steps = Count(json, "max_steps");
    state.num_train_epochs = CountOr0(json, "num_train_epochs");
    state.total_flos = json.value("total_flos", 0.0);
    if (json.contains("best_metric") && json["best_metric"].is_number()) {
      state.best_metric = json["best_metric"].get<double>();
    }
    if (json.contains("best_model_checkpoint") && json["best_model_checkpoint"].is_string()) {
      state.best_model_checkpoint = json["best_model_checkpoint"].get<std::string>();
    }
    for (const Json& entry : json.at("log_history")) {
      state.log_history.push_back(EntryFromJson(entry));
    }
    if (json.contains(io::kOwnStateKey)) {
      const Json& own = json[io::kOwnStateKey];
      loaded.has_hagane_part = true;
      state.seed = Count<uint64_t>(own, "seed");
      state.data_seed = Count<uint64_t>(own, "data_seed");
      state.global_batch = Count(own, "global_batch");
      state.batch_per_process = CountOr0(own, "batch_per_process");
      state.updates_per_epoch = CountOr0(own, "updates_per_epoch");
      state.loss_sum = own.at("loss_sum").get<double>();
      state.interval_loss = own.at("interval_loss").get<double>();
      state.interval_steps = Count(own, "interval_steps");
    }
  } catch (const nlohmann::json::exception& problem) {
    throw damaged(problem.what());
  } catch (const std::domain_error& problem) {
    throw damaged(problem.what());
  }
  return loaded;
}

}  // namespace hagane::train
