#include "io/checkpoint.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/atomic_write.h"
#include "io/json.h"
#include "io/manifest.h"
#include "tests/io/temporary_folder.h"

namespace hagane::io {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class KeepingLog : public Log {
 public:
  void Info(const std::string&) override {}
  void Warning(const std::string& line) override { warnings += line + "\n"; }
  std::string warnings;
};

void WriteWeights(const fs::path& folder, float value) {
  WriteSafetensors(folder / "model.safetensors",
                   {{"w", DType::kF32, {1}, std::as_bytes(std::span(&value, 1))}},
                   {{"format", "pt"}});
}

void WriteCheckpoint(const fs::path& output_dir, int64_t step, bool manifest = true) {
  AtomicFolder folder(CheckpointPath(output_dir, step));
  WriteWeights(folder.path(), static_cast<float>(step));
  WriteTrainerState(folder.path(), {{"global_step", step}});
  if (manifest) WriteManifest(folder.path(), {{"step", step}, {"seed", 42}});
  folder.Commit();
}

std::vector<CheckpointInfo> Checkpoints(std::initializer_list<int64_t> steps) {
  std::vector<CheckpointInfo> all;
  for (const int64_t step : steps) all.push_back({CheckpointPath("out", step), step});
  return all;
}
using Paths = std::vector<fs::path>;

TEST(ListCheckpoints, SortsByNumberAndSkipsOtherThings) {
  TemporaryFolder folder;
  for (const char* name :
       {"checkpoint-9", "checkpoint-100", "checkpoint-20", "checkpoint-", "checkpoint-x1",
        ".checkpoint-5.tmp-a", "checkpoint-99999999999999999999", "runs"}) {
    fs::create_directory(folder.path() / name);
  }
  folder.Write("checkpoint-7", "a file");
  std::vector<int64_t> steps;
  for (const auto& checkpoint : ListCheckpoints(folder.path())) steps.push_back(checkpoint.step);
  EXPECT_EQ(steps, (std::vector<int64_t>{9, 20, 100}));
  EXPECT_TRUE(ListCheckpoints(folder.path() / "missing").empty());
}

TEST(NewestWholeCheckpoint, IsTheOneWithTheHighestStep) {
  TemporaryFolder folder;
  KeepingLog log;
  EXPECT_FALSE(NewestWholeCheckpoint(folder.path(), log));
  WriteCheckpoint(folder.path(), 9);
  WriteCheckpoint(folder.path(), 10);
  EXPECT_EQ(NewestWholeCheckpoint(folder.path(), log)->step, 10);
  // The manifest's step counts, not the name.
  fs::rename(CheckpointPath(folder.path(), 9), CheckpointPath(folder.path(), 900));
  EXPECT_EQ(NewestWholeCheckpoint(folder.path(), log)->path, CheckpointPath(folder.path(), 10));
  EXPECT_EQ(log.warnings, "");
}

TEST(NewestWholeCheckpoint, AStepThatIsNoIntegerDoesNotCount) {
  TemporaryFolder folder;
  WriteCheckpoint(folder.path(), 9);
  for (const auto& [step, of_manifest] :
       std::vector<std::pair<int64_t, nlohmann::ordered_json>>{{7, 1e300}, {8, "20"}}) {
    const fs::path other = CheckpointPath(folder.path(), step);
    WriteCheckpoint(folder.path(), step, /*manifest=*/false);
    WriteManifest(other, {{"step", of_manifest}});
  }
  KeepingLog log;
  EXPECT_EQ(NewestWholeCheckpoint(folder.path(), log)->step, 9);
}

TEST(NewestWholeCheckpoint, SkipsDamagedOnesAndSaysWhy) {
  TemporaryFolder folder;
  for (const int64_t step : {10, 20, 30, 40, 50})
    WriteCheckpoint(folder.path(), step, step != 40 && step != 10);
  // 50: one flipped bit in the weights; 40 (made by the Trainer): half its weights; 30: a file is
  // gone; 20: its manifest is cut.
  std::string bytes = ReadAll(folder.path() / "checkpoint-50/model.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  folder.Write("checkpoint-50/model.safetensors", bytes);
  folder.Write("checkpoint-40/model.safetensors", bytes.substr(0, bytes.size() - 2));
  fs::remove(folder.path() / "checkpoint-30/trainer_state.json");
  const std::string manifest = ReadAll(folder.path() / "checkpoint-20/hagane_state.json");
  folder.Write("checkpoint-20/hagane_state.json", manifest.substr(0, manifest.size() / 2));

  KeepingLog log;
  const auto newest = NewestWholeCheckpoint(folder.path(), log);
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->path, CheckpointPath(folder.path(), 10));
  EXPECT_TRUE(Contains(log.warnings, "checkpoint-50/model.safetensors has other content"));
  EXPECT_TRUE(Contains(log.warnings, "checkpoint-40/model.safetensors: tensor w lies outside"));
  EXPECT_TRUE(Contains(log.warnings, "checkpoint-30/trainer_state.json: No such file"));
  EXPECT_TRUE(Contains(log.warnings, "checkpoint-20/hagane_state.json:"));
}

TEST(Manifest, RefusesAChangeOfAnyByteOfItself) {
  TemporaryFolder folder;
  WriteWeights(folder.path(), 1);
  WriteManifest(folder.path(), {{"step", 3}, {"epoch", 0.1}});
  const Json manifest = VerifyManifest(folder.path());
  EXPECT_EQ(manifest["step"], 3);
  EXPECT_EQ(manifest["epoch"], 0.1);
  EXPECT_EQ(manifest["files"].size(), 1u);
  const std::string text = ReadAll(folder.path() / kManifestName);
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::isspace(static_cast<unsigned char>(text[i]))) continue;  // layout is not content
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    folder.Write(kManifestName, changed);
    EXPECT_NE(ErrorOf([&] { VerifyManifest(folder.path()); }), "") << i;
  }
}

// save_total_limit with the best of .70 .80 .75 .74 .76 at step 20: a step is saved, then rotation.
TEST(CheckpointsToDelete, KeepsTheBestAndTheLast) {
  for (const int limit : {1, 2}) {
    const double metric[] = {.70, .80, .75, .74, .76};
    std::vector<CheckpointInfo> kept;
    std::optional<fs::path> best;
    double best_metric = 0;
    for (int i = 0; i < 5; ++i) {
      kept.push_back({CheckpointPath("out", 10 * (i + 1)), 10 * (i + 1)});
      if (metric[i] > best_metric) {
        best_metric = metric[i];
        best = kept.back().path;
      }
      for (const fs::path& path : CheckpointsToDelete(kept, limit, best)) {
        std::erase_if(kept, [&](const auto& checkpoint) { return checkpoint.path == path; });
      }
    }
    ASSERT_EQ(kept.size(), 2u) << limit;
    EXPECT_EQ(kept[0].step, 20);
    EXPECT_EQ(kept[1].step, 50);
  }
}

TEST(CheckpointsToDelete, TakesTheOldestFirst) {
  const auto all = Checkpoints({30, 10, 20, 100});
  EXPECT_EQ(CheckpointsToDelete(all, 2, {}), (Paths{"out/checkpoint-10", "out/checkpoint-20"}));
  EXPECT_EQ(CheckpointsToDelete(all, 1, {}),
            (Paths{"out/checkpoint-10", "out/checkpoint-20", "out/checkpoint-30"}));
  EXPECT_EQ(CheckpointsToDelete(all, 3, "elsewhere/checkpoint-10"), (Paths{"out/checkpoint-20"}));
  EXPECT_EQ(CheckpointsToDelete(all, 4, {}), Paths{});
  EXPECT_EQ(CheckpointsToDelete(all, 0, {}), Paths{});
  EXPECT_EQ(CheckpointsToDelete({}, 1, {}), Paths{});
}

TEST(DeleteCheckpoint, LeavesNothing) {
  TemporaryFolder folder;
  WriteCheckpoint(folder.path(), 10);
  WriteCheckpoint(folder.path(), 20);
  DeleteCheckpoint(CheckpointPath(folder.path(), 10));
  ASSERT_EQ(ListCheckpoints(folder.path()).size(), 1u);
  for (const std::string& name : folder.Names())
    EXPECT_TRUE(name.starts_with("checkpoint-20")) << name;
  EXPECT_TRUE(Contains(ErrorOf([&] { DeleteCheckpoint(CheckpointPath(folder.path(), 10)); }),
                       "cannot delete"));
}

TEST(TrainerState, RoundTripsWithNaN) {
  TemporaryFolder folder;
  Json state = {{"global_step", 5}, {"epoch", 1.0}, {"best_metric", nullptr}};
  state["log_history"] = {{{"step", 5}, {"loss", std::numeric_limits<double>::quiet_NaN()}}};
  WriteTrainerState(folder.path(), state);
  EXPECT_EQ(ReadAll(folder.path() / "trainer_state.json"),
            "{\n  \"best_metric\": null,\n  \"epoch\": 1.0,\n  \"global_step\": 5,\n  "
            "\"log_history\": [\n    {\n"
            "      \"loss\": NaN,\n      \"step\": 5\n    }\n  ]\n}\n");
  EXPECT_TRUE(std::isnan(ReadTrainerState(folder.path())["log_history"][0]["loss"].get<double>()));
}

TEST(OptimizerState, RoundTripsMomentsByParameterName) {
  TemporaryFolder folder;
  const std::vector<float> m{1, 2, 3}, v{4, 5, 6};
  EXPECT_FALSE(HasOptimizerState(folder.path()));
  WriteOptimizerState(folder.path(), {{"a.weight", m, v}}, 17);
  EXPECT_TRUE(HasOptimizerState(folder.path()));
  const OptimizerState state(folder.path());
  EXPECT_EQ(state.step(), 17);
  std::vector<float> m2(3), v2(3), two(2);
  state.Read("a.weight", m2, v2);
  EXPECT_EQ(m2, m);
  EXPECT_EQ(v2, v);
  EXPECT_TRUE(Contains(ErrorOf([&] { state.Read("a.weight", two, two); }),
                       "3 F32 values, 2 F32 ones are needed"));
  EXPECT_TRUE(Contains(ErrorOf([&] { state.Read("b", m2, v2); }), "does not hold exp_avg.b"));
}

}  // namespace
}  // namespace hagane::io
